"""Figures: files, labels, numbers equal to the runs', the same bytes twice, and nothing to draw."""

import csv
import hashlib
import json

import numpy as np
import pytest
import yaml
from matplotlib import rc_context

from riftsim import plotting
from riftsim.config.schema import PlotConfig
from riftsim.errors import ConfigError, ResultsError
from riftsim.plotting import breakdown, latency_cdf, recall_latency, recall_qps, series, style
from riftsim.results import store
from riftsim.results.recorder import PointResult, write_run
from riftsim.results.store import RunSet

SIZES = (16, 64, 128)
BASIC = [plot.kind for plot in plotting.DEFAULT_PLOTS]
SYSTEMS = {"async_vamana": 1.5, "in_memory_vamana": 1.0, "remote_vamana": 2.0}


def record(root, system, size, factor=1.0, clock=True, queries=80, scale=1.0, seed=0, **settings):
    """A made-up run: recall and latency grow with L, and the parts add up to the latency."""
    config = {"name": "fake", "seed": seed, "search": {"k": 10, "L": size}, "system": {"kind": system, **settings}}
    digest = hashlib.sha256(json.dumps(config).encode()).hexdigest()
    rng = np.random.default_rng([int(digest[:8], 16)])
    latency = (scale * factor * (40 + 3 * size) * 1e6 * rng.lognormal(0, 0.2, queries)).astype(np.int64) + 5
    columns = {"query": np.arange(queries), "recall": rng.binomial(10, 1 - 0.6 / (1 + size / 12), queries) / 10}
    if clock:
        arrival = np.arange(queries) * (latency.mean() / 8).astype(np.int64)
        columns |= {"arrival_ps": arrival, "end_ps": arrival + latency}
        columns |= {f"{part}_ps": latency // 5 for part in ("queue", "evaluation", "posting", "polling")}
        columns |= {"gate_ps": latency // 10, "drain_ps": latency // 20}
        columns["wait_ps"] = latency - 4 * (latency // 5) - latency // 10 - latency // 20
    shape = (queries, 10)
    result = PointResult(columns, np.zeros(shape, np.int32), np.zeros(shape, np.float32), facts={"driver": "sim"})
    return write_run(root, "fake", f"{system}-L={size}", config, digest, result, {"versions": {"commit": "c0ffee"}})


@pytest.fixture(scope="module")
def three_systems(tmp_path_factory) -> RunSet:
    root = tmp_path_factory.mktemp("runs")
    for system, factor in SYSTEMS.items():
        for size in SIZES:
            record(root, system, size, factor)
    return store.load_runs(root)


@pytest.fixture(scope="module")
def written(three_systems, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return folder, plotting.make_figures(three_systems, plotting.DEFAULT_PLOTS, folder)


def rows_of(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_kinds_are_those_of_the_configuration():
    assert set(plotting.KINDS) == set(PlotConfig.__annotations__["kind"].__args__)


def test_all_files_are_there(written):
    folder, paths = written
    assert [path.name for path in paths] == [
        f"{kind}.{ending}" for kind in BASIC for ending in ("png", "svg", "pdf", "csv", "runs.json")
    ]
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for path in paths:
        content = path.read_bytes()
        assert len(content) > 200, path
        assert content.startswith(starts.get(path.suffix, b"")), path
    assert sorted(folder.iterdir()) == sorted(paths)


def test_print_size_fonts_and_no_dates(written):
    folder, _ = written
    png = (folder / "recall-latency.png").read_bytes()
    assert int.from_bytes(png[16:20], "big") == round(300 * style.COLUMN_IN)
    pdf = (folder / "recall-latency.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"CreationDate" not in pdf
    assert b"<dc:date>" not in (folder / "recall-latency.svg").read_bytes()


@pytest.mark.parametrize(("name", "metric"), [("recall-latency", "latency_mean_us"), ("recall-qps", "qps")])
def test_curves_hold_the_metrics_of_the_runs(three_systems, written, name, metric):
    rows = rows_of(written[0], name)
    table = three_systems.table(["recall", metric], confidence=True)
    assert len(rows) == len(table) == len(SYSTEMS) * len(SIZES)
    for row in rows:
        (expected,) = table[(table["system.kind"] == row["system"]) & (table["search.L"] == int(row["L"]))].to_dict(
            "records"
        )
        for column in ("recall", "recall_low", "recall_high", metric, f"{metric}_low", f"{metric}_high"):
            assert float(row[column]) == pytest.approx(expected[column])


def test_breakdown_adds_up(three_systems, written):
    rows = rows_of(written[0], "breakdown")
    assert len(rows) == len(three_systems)
    for row in rows:
        parts = [
            float(row[f"{part}_us"])
            for part in ("wait", "gate", "drain", "evaluation", "posting", "polling", "queue", "idle")
        ]
        assert sum(parts) == pytest.approx(float(row["latency_mean_us"]))


def test_distribution_holds_every_query_at_matched_recall(three_systems, written):
    rows = rows_of(written[0], "latency-cdf")
    chosen = {(row["system"], int(row["L"])) for row in rows}
    assert len(chosen) == len(SYSTEMS)
    table = three_systems.table(["recall"])
    target = min(0.95, table.groupby("system.kind")["recall"].max().min())
    for system, size in chosen:
        mine = table[table["system.kind"] == system]
        assert size == mine[mine["recall"] >= target]["search.L"].min()
    for system in SYSTEMS:
        shares = [float(row["share"]) for row in rows if row["system"] == system]
        assert shares == pytest.approx(np.arange(1, 81) / 80)


def test_runs_are_named(three_systems, written):
    for kind in BASIC:
        record = json.loads((written[0] / f"{kind}.runs.json").read_text(encoding="utf-8"))
        assert (record["kind"], record["data"]) == (kind, f"{kind}.csv")
        names = {run["run"] for run in record["runs"]}
        assert names <= {run.name for run in three_systems}
        assert len(names) == (len(SYSTEMS) if kind == "latency-cdf" else len(three_systems))
        assert all(run["commit"] == "c0ffee" and len(run["config_hash"]) == 64 for run in record["runs"])


@pytest.mark.parametrize(
    ("draw", "x", "y"),
    [
        (recall_latency.draw, "Recall@10", "Mean latency (µs)"),
        (recall_qps.draw, "Recall@10", "Throughput (kQPS)"),
        (breakdown.draw, "Mean latency (µs)", ""),
        (latency_cdf.draw, "Latency (µs)", "Share of queries"),
    ],
)
def test_labels_and_series(three_systems, draw, x, y):
    figure = draw(three_systems).render()
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == (x, y, "")
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    texts += [text.get_text() for text in axes.texts]
    for name in ("In-memory Vamana", "Remote-Vamana", "Async-Vamana"):
        assert any(text.split(", ")[0] == name for text in texts), name


def test_drawn_points_are_those_of_the_rows(three_systems):
    drawing = recall_latency.draw(three_systems)
    (axes,) = drawing.render().axes
    colours = {style.look(system).colour: system for system in SYSTEMS}
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    assert {colours[line.get_color()] for line in lines} == set(SYSTEMS)
    for line in lines:
        rows = [row for row in drawing.rows if row["system"] == colours[line.get_color()]]
        assert list(line.get_xdata()) == [row["recall"] for row in rows]
        assert list(line.get_ydata()) == [row["latency_mean_us"] for row in rows]


def test_same_bytes_twice(three_systems, written, tmp_path):
    again = RunSet([store.open_run(run.path) for run in three_systems])
    for path in plotting.make_figures(again, [{"kind": "breakdown"}], tmp_path):
        assert path.read_bytes() == (written[0] / path.name).read_bytes(), path.name


def test_second_figure_of_a_kind_has_its_own_name(tmp_path):
    plots = [PlotConfig(kind="recall-qps"), PlotConfig(kind="recall-qps", title="With a title")]
    paths = plotting.make_figures(RunSet([]), plots, tmp_path)
    assert {path.name.split(".")[0] for path in paths} == {"recall-qps", "recall-qps-2"}
    assert json.loads((tmp_path / "recall-qps-2.runs.json").read_text())["title"] == "With a title"


def test_named_series_without_runs_are_left_out(three_systems, tmp_path):
    plots = [
        {"kind": "breakdown", "series": {"none": {"system": "d_hnsw"}}},
        {"kind": "breakdown", "series": {"some": {"system": "remote_vamana"}, "none": {"system": "d_hnsw"}}},
    ]
    files = plotting.make_figures(three_systems, plots, tmp_path, formats=["svg"])
    assert {file.name for file in files} == {"breakdown-2.svg", "breakdown-2.csv", "breakdown-2.runs.json"}


def test_no_runs_no_clock_one_point_one_query(tmp_path):
    record(tmp_path / "a", "remote_vamana", 64, clock=False)
    record(tmp_path / "b", "remote_vamana", 64, queries=1)
    record(tmp_path / "c", "remote_vamana", 64, queries=0, clock=False)
    expected = {"none": "no runs", "a": "clock", "b": None, "c": "clock"}
    for name, text in expected.items():
        runs = RunSet([]) if name == "none" else store.load_runs(tmp_path / name)
        for kind, draw in plotting.KINDS.items():
            figure = draw(runs).render()
            said = " ".join(item.get_text() for axes in figure.axes for item in axes.texts)
            assert text is None or text in said or kind not in BASIC, (name, kind)
    for path in plotting.make_figures(RunSet([]), [{"kind": "recall-qps"}], tmp_path / "figures"):
        assert path.exists()


def test_unknown_kind_and_folder_in_the_way(three_systems, tmp_path):
    with pytest.raises(ConfigError, match=r"plots\[0\]: .*pie.*kinds are recall-latency, recall-qps"):
        plotting.make_figures(three_systems, [{"kind": "pie"}], tmp_path)
    with pytest.raises(ConfigError, match="no figure is called 'pie'; kinds are"):
        plotting.draw("pie", three_systems, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="the figure breakdown cannot be written"):
        plotting.make_figures(RunSet([]), [{"kind": "breakdown"}], tmp_path / "file")


def test_pareto_front_leaves_out_what_is_beaten(tmp_path):
    for size, factor in ((16, 1.0), (64, 5.0), (128, 1.0)):
        record(tmp_path, "remote_vamana", size, factor)
    rows = {row["L"]: row for row in recall_qps.draw(store.load_runs(tmp_path)).rows}
    assert rows[128]["qps"] > rows[64]["qps"]
    assert [rows[size]["on_front"] for size in (16, 64, 128)] == [True, False, True]


def test_series_by_parameter_and_seeds_as_one_point(tmp_path):
    for width in (8, 16, 4):
        for seed in range(3):
            record(tmp_path, "remote_vamana", 64, beam_width=width, seed=seed)
    record(tmp_path, "in_memory_vamana", 64)
    found = series.series_of(store.load_runs(tmp_path))
    labels = ["In-memory Vamana", "Remote-Vamana, W=4", "Remote-Vamana, W=8", "Remote-Vamana, W=16"]
    assert [one.label for one in found] == labels
    (point,) = found[1].points
    values = [run.metrics(["recall"])["recall"] for run in point.runs]
    assert len(values) == 3
    assert point.value("recall") == pytest.approx(np.mean(values))
    low, high = point.interval("recall")
    assert (low + high) / 2 == pytest.approx(np.mean(values))
    looks = [style.look(one.system, one.variant, one.variants) for one in found[1:]]
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == 3


@pytest.mark.filterwarnings("error")
def test_long_names_fit(tmp_path):
    for number in range(3):
        record(tmp_path, "remote_vamana", 64, policy=f"{number}: " + "a long story " * 12)
    runs = store.load_runs(tmp_path)
    for kind, draw in plotting.KINDS.items():
        with rc_context(style.RC):
            figure = draw(runs).render()
            figure.draw_without_rendering()
        assert figure.get_figwidth() == style.PAGE_IN or kind not in BASIC
        for box in (legend.get_window_extent() for legend in figure.legends):
            assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1


def test_two_experiments_are_two_series(tmp_path):
    for name in ("one", "two"):
        record(tmp_path / name, "remote_vamana", 64)
    (tmp_path / "two" / "fake").rename(tmp_path / "two" / "other")
    runs = store.load_runs(tmp_path)
    assert [one.label for one in series.series_of(runs)] == ["Remote-Vamana, fake", "Remote-Vamana, other"]
    assert all(len(point.runs) == 1 for one in series.series_of(runs) for point in one.points)


def test_looks_depend_on_the_system_alone():
    known = [style.look(system) for system in series.SYSTEM_NAMES]
    assert len({look.colour for look in known}) == len({look.marker for look in known}) == len(known)
    assert style.look("somebody-elses") == style.look("somebody-elses")


def test_plugin_is_known_by_its_own_name(tmp_path):
    path = record(tmp_path, "plugin", 64, name="mine")
    assert yaml.safe_load((path / "config.yaml").read_text())["system"]["kind"] == "plugin"
    (one,) = series.series_of(store.load_runs(tmp_path))
    assert (one.system, one.label) == ("mine", "mine")


@pytest.mark.parametrize(("value", "unit"), [(0.05, "ns"), (0.0, "µs"), (900.0, "µs"), (20_000.0, "ms"), (3e7, "s")])
def test_time_units_keep_numbers_short(value, unit):
    assert style.time_unit(value)[1] == unit


@pytest.mark.parametrize("scale", [1e-7, 1e3])
def test_extreme_values_are_drawn(tmp_path, scale):
    for size in SIZES:
        record(tmp_path, "remote_vamana", size, scale=scale)
        record(tmp_path, "async_vamana", size, factor=1e4, scale=scale)
    runs = store.load_runs(tmp_path)
    for draw in plotting.KINDS.values():
        draw(runs).render().draw_without_rendering()
