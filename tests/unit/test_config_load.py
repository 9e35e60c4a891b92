"""Reading experiment files: strict YAML, fragments, settings, and what an error says."""

from pathlib import Path

import pytest

from riftsim import yaml_file
from riftsim.config.canonical import config_hash, dump_config
from riftsim.config.document import BUNDLED, find_experiment
from riftsim.config.machines import LocalDriver, PoissonLoad
from riftsim.config.sweep import load_experiment
from riftsim.config.systems import AsyncVamanaConfig, RemoteVamanaConfig
from riftsim.errors import ConfigError

MINIMAL = {"name": "test", "dataset": {"name": "sift-photos-10k"}}


def one(settings=(), **blocks):
    """Return the configuration of an experiment of one point."""
    (point,) = load_experiment({**MINIMAL, **blocks}, settings).points
    return point.config


def write(folder: Path, text: str, name: str = "experiment.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class TestYaml:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1e6", 1e6),
            ("1.5e-3", 1.5e-3),
            ("12", 12),
            ("-3", -3),
            ("0x10", 16),
            (".5", 0.5),
            ("no", "no"),
            ("on", "on"),
            ("1:30", "1:30"),
            ("010", "010"),
            ("2024-01-01", "2024-01-01"),
            ("true", True),
            ("null", None),
            ("~", None),
            ("localhost:7471", "localhost:7471"),
        ],
    )
    def test_scalars_follow_yaml_1_2(self, text, expected):
        value, _ = yaml_file.parse(f"key: {text}", "test")
        assert value == {"key": expected}
        assert type(value["key"]) is type(expected)

    @pytest.mark.parametrize(
        "value", ["1e6", "no", "010", "true", "null", "", "~", "<<", "a: b", 1e20, 1e-7, 3, True, None]
    )
    def test_dumped_values_read_back_as_they_were(self, value):
        again, _ = yaml_file.parse(yaml_file.dump({"key": value}), "test")
        assert again == {"key": value}
        assert type(again["key"]) is type(value)

    def test_a_key_twice_names_both_lines(self):
        with pytest.raises(ConfigError, match=r"file\.yaml:4: key 'L' is there twice \(first in line 2\)"):
            yaml_file.parse("search:\n  L: 1\n  k: 1\n  L: 2\n", "file.yaml")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a: [1", r"f\.yaml:1: "),
            ("a: 1\n- b", r"f\.yaml:2: "),
            ("a: !!python/object:os.system x", r"f\.yaml:1: could not determine a constructor"),
            ("1: a", r"f\.yaml:1: found the key '1', expected a name"),
            ("? [a]\n: b", r"f\.yaml:1: found a list or mapping as key, expected a name"),
            ("a: \x07", r"f\.yaml: not YAML"),
        ],
    )
    def test_bad_text_names_file_and_line(self, text, message):
        with pytest.raises(ConfigError, match=message):
            yaml_file.parse(text, "f.yaml")

    def test_merge_keys_work(self):
        value, _ = yaml_file.parse("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", "f")
        assert value["d"] == {"b": 1, "c": 3}

    def test_a_file_that_is_no_text(self, tmp_path):
        path = tmp_path / "x.yaml"
        path.write_bytes(b"name: \xff\xfe")
        with pytest.raises(ConfigError, match=r"x\.yaml: byte 6 is not UTF-8"):
            yaml_file.read(path)


class TestFiles:
    def test_bundled_experiments_are_found_by_name(self):
        assert find_experiment("quickstart") == find_experiment("quickstart.yaml") == BUNDLED / "quickstart.yaml"

    def test_a_missing_file_names_the_nearest_bundled_one(self):
        with pytest.raises(ConfigError, match=r"quikstart: no such file.*did you mean 'quickstart'"):
            find_experiment("quikstart")

    def test_a_folder_is_no_experiment(self, tmp_path):
        with pytest.raises(ConfigError, match="found a folder, expected an experiment file"):
            load_experiment(tmp_path)

    @pytest.mark.parametrize(("text", "found"), [("", "nothing"), ("- a", "list"), ("3", "int")])
    def test_a_file_must_be_a_mapping(self, tmp_path, text, found):
        with pytest.raises(ConfigError, match=rf"found {found}, expected a mapping"):
            load_experiment(write(tmp_path, text))

    def test_fragments_are_merged_in_order_and_the_file_wins(self, tmp_path):
        write(
            tmp_path, "search: {k: 5, L: 30}\nsystem: {kind: remote_vamana, beam_width: 8}\nseed: 1\n", "parts/a.yaml"
        )
        write(tmp_path, "search: {L: 50}\nseed: 2\n", "parts/b.yaml")
        path = write(
            tmp_path,
            "base: [parts/a.yaml, parts/b.yaml]\nname: x\ndataset: {name: sift-photos-10k}\nseed: 3\n",
        )
        config = load_experiment(path).points[0].config
        assert (config.search.k, config.search.L, config.seed) == (5, 50, 3)
        assert config.system == RemoteVamanaConfig(beam_width=8)

    def test_a_block_of_another_kind_replaces_the_fragment(self, tmp_path):
        write(tmp_path, "driver: {kind: sim, engine: simpy}\n", "a.yaml")
        path = write(tmp_path, "base: a.yaml\nname: x\ndataset: {name: d}\ndriver: {kind: local}\n")
        assert load_experiment(path).points[0].config.driver == LocalDriver()

    def test_fragments_may_be_bundled(self, tmp_path):
        path = write(tmp_path, "base: [quickstart.yaml]\nname: mine\n")
        assert len(load_experiment(path).points) == len(load_experiment("quickstart").points)

    def test_a_missing_fragment_names_key_and_places(self, tmp_path):
        path = write(tmp_path, "name: x\nbase:\n  - none.yaml\n")
        with pytest.raises(
            ConfigError, match=r"experiment\.yaml:3: \$\.base\[0\]: no file 'none\.yaml'; expected .* or "
        ):
            load_experiment(path)

    def test_fragments_in_a_circle_are_refused(self, tmp_path):
        write(tmp_path, "base: [b.yaml]\n", "a.yaml")
        write(tmp_path, "base: [a.yaml]\n", "b.yaml")
        with pytest.raises(ConfigError, match=r"based on each other: a\.yaml -> b\.yaml -> a\.yaml"):
            load_experiment(tmp_path / "a.yaml")

    def test_an_error_in_a_fragment_names_the_fragment_and_its_line(self, tmp_path):
        write(tmp_path, "seed: 1\nsearch:\n  Lx: 3\n", "part.yaml")
        path = write(tmp_path, "base: [part.yaml]\nname: x\ndataset: {name: d}\n")
        with pytest.raises(ConfigError, match=r"part\.yaml:3: \$\.search has no key 'Lx' \(did you mean 'L'\?\)"):
            load_experiment(path)

    def test_paths_are_relative_to_the_file_that_names_them(self, tmp_path):
        write(tmp_path, "hardware: mine.yaml\nsystem: {kind: diskann, drive: ssd.yaml}\n", "parts/machine.yaml")
        path = write(
            tmp_path,
            "base: [parts/machine.yaml]\nname: x\ndataset: {name: ./sets/d.yaml}\n"
            "index: {kind: file, path: g, format: faiss}\ndriver: {kind: file, folder: there}",
        )
        config = load_experiment(path).points[0].config
        assert Path(config.hardware) == tmp_path / "parts" / "mine.yaml"
        assert Path(config.system.drive) == tmp_path / "parts" / "ssd.yaml"
        assert Path(config.driver.folder) == tmp_path / "there"
        assert Path(config.dataset.name) == tmp_path / "sets" / "d.yaml"
        assert Path(config.index.path) == tmp_path / "g"


class TestSettings:
    @pytest.mark.parametrize(
        ("setting", "read"),
        [
            ("search.L=40", lambda c: c.search.L == 40),
            ("system.beam_width=8", lambda c: c.system == RemoteVamanaConfig(beam_width=8)),
            ("system.kind=async_vamana", lambda c: c.system == AsyncVamanaConfig()),
            ("system={kind: async_vamana, beam_width: 2}", lambda c: c.system == AsyncVamanaConfig(beam_width=2)),
            ("load={kind: poisson, rate_qps: 1e5}", lambda c: c.load == PoissonLoad(rate_qps=1e5)),
            ("cluster.placement.kind=hash", lambda c: c.cluster.placement.kind == "hash"),
            ("cluster.memory_budget_gb=2", lambda c: c.cluster.memory_budget_gb == 2.0),
            ("measured_queries=null", lambda c: c.measured_queries is None),
            ("description=a=b", lambda c: c.description == "a=b"),
            ("plots=[{kind: breakdown}]", lambda c: c.plots[0].kind == "breakdown"),
        ],
    )
    def test_a_setting_wins(self, setting, read):
        assert read(one([setting]))

    def test_settings_from_python(self):
        assert one({"search.L": 33, "system": {"kind": "async_vamana"}}).search.L == 33

    def test_another_kind_keeps_what_it_knows_and_drops_the_rest(self):
        blocks = {"system": {"kind": "remote_vamana", "beam_width": 9}, "driver": {"kind": "sim", "engine": "simpy"}}
        config = one(["system.kind=async_vamana", "driver.kind=local"], **blocks)
        assert config.system == AsyncVamanaConfig(beam_width=9)
        assert config.driver == LocalDriver()

    def test_kind_first_then_its_keys(self):
        assert one(["load.kind=poisson", "load.rate_qps=10"]).load == PoissonLoad(rate_qps=10)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            (
                "search.Lx=1",
                r"--set search\.Lx=1: \$\.search has no key 'Lx' \(did you mean 'L'\?\); expected one of: k, L",
            ),
            ("serch.L=1", r"\$ has no key 'serch' \(did you mean 'search'\?\)"),
            ("load.rate_qps=1", r"\$\.load of kind 'closed' has no key 'rate_qps'; expected one of: kind, concurrency"),
            (
                "load.kind=poison",
                r"\$\.load\.kind: found 'poison' \(did you mean 'poisson'\?\); expected one of: closed",
            ),
            ("load.kind=poisson", r"\$\.load lacks the required key 'rate_qps'"),
            ("search.L=forty", r"\$\.search\.L: found 'forty', expected int"),
            ("search.L=1.5", r"\$\.search\.L: found 1\.5, expected int"),
            ("search.L=true", r"\$\.search\.L: found True, expected int"),
            ("search.L=0", r"\$\.search\.L: found 0, expected int >= 1"),
            ("search.L.x=0", r"\$\.search\.L is a single value; it has no key 'x'"),
            ("system=3", r"\$\.system: found 3, expected a mapping with 'kind', one of: in_memory_vamana"),
            ("system={}", r"\$\.system lacks 'kind'; expected one of: in_memory_vamana"),
            ("search=3", r"\$\.search: found 3, expected mapping"),
            ("plots=3", r"\$\.plots: found 3, expected list"),
            ("plots=[{kind: braekdown}]", r"\$\.plots\[0\]\.kind: found 'braekdown' \(did you mean 'breakdown'\?\)"),
            ("name=../up", r"\$\.name: found '\.\./up', expected str matching"),
            ("search.L", r"--set search\.L: expected key=value"),
            ("=3", r"--set =3: expected key=value"),
            ("search..L=3", r"found an empty name between dots"),
            ("search.L=[", r"--set search\.L=\["),
            ("cluster.memory_budget_gb=.inf", r"memory_budget_gb=\.inf:1: found \.inf, expected a finite number"),
            ("cluster.memory_budget_gb=1e400", r":1: found 1e400, expected a finite number"),
            ("cluster.memory_budget_gb=1e300", r"cluster\.memory_budget_gb: found 1e\+300, expected at most 10{15}"),
            ("cluster.memory_budget_gb=.nan", r"memory_budget_gb=\.nan:1: found \.nan, expected a finite number"),
            ("cluster.threads=0", r"\$\.cluster\.threads: found 0, expected int >= 1"),
            ("index.alpha=0.9", r"\$\.index\.alpha: found 0\.9, expected float >= 1"),
            ("dataset=null", r"\$\.dataset: found None, expected mapping"),
        ],
    )
    def test_a_wrong_setting_names_path_value_and_what_was_expected(self, setting, message):
        with pytest.raises(ConfigError, match=message):
            one([setting])

    def test_a_missing_required_key(self):
        with pytest.raises(ConfigError, match=r"\$ lacks the required key 'dataset'"):
            load_experiment({"name": "x"})


class TestChecks:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (["search.k=10", "search.L=9"], r"\$\.search\.L: found 9, expected at least search\.k = 10"),
            (
                ["search.L=10", "system.beam_width=11"],
                r"\$\.system\.beam_width: found 11, expected at most search\.L = 10",
            ),
            (["dataset.n=5"], r"\$\.search\.k: found 10, expected at most dataset\.n = 5"),
            (["index.R=1"], r"\$\.index\.R: found 1, expected at least 2"),
            (
                ["system={kind: d_hnsw, routed: 9, partitions: 8}"],
                r"\$\.system\.routed: found 9, expected at most system\.partitions = 8",
            ),
            (
                ["system.kind=d_hnsw", "cluster.threads=1"],
                r"\$\.cluster\.threads: found 1 with system 'd_hnsw', expected at least 2",
            ),
            (
                ["system.kind=distvs", "cluster.threads=6"],
                r"\$\.system\.memory_threads: found 6, expected fewer than cluster\.threads = 6",
            ),
            (
                ["system.kind=distvs", "cluster.memory_nodes=2"],
                r"\$\.cluster\.memory_nodes: found 2 with system 'distvs', expected 1",
            ),
            (["cluster.placement.kind=plugin"], r"\$\.cluster\.placement\.name: missing"),
            (["cluster.placement.name=x"], r"\$\.cluster\.placement\.name: found 'x' with kind 'contiguous'"),
            (
                ["driver.kind=local", "load={kind: constant, rate_qps: 5}"],
                r"\$\.load\.kind: found 'constant' with driver",
            ),
            (["system={kind: plugin, name: ''}"], r"\$\.system\.name: found an empty name"),
            (["cluster.placement={kind: plugin, name: ''}"], r"\$\.cluster\.placement\.name: found an empty name"),
            (["cluster.placement.options={a: 1}"], r"\$\.cluster\.placement\.options: found options with kind"),
            (
                ["system.kind=riftann", "system.balancing.min_window=9"],
                r"\$\.system\.balancing\.min_window: found 9, expected at most max_window = 8",
            ),
            (
                ["system.kind=riftann", "system.window=16"],
                r"\$\.system\.window: found 16, expected min_window = 1 to max_window = 8 of the controller",
            ),
            (
                ["system.kind=riftann", "system.balancing.min_workers=3"],
                r"\$\.system\.workers_per_query: found 2, expected min_workers = 3 to max_workers = 6",
            ),
        ],
    )
    def test_contradicting_keys_are_named(self, settings, message):
        with pytest.raises(ConfigError, match=message):
            one(settings)

    def test_all_contradictions_are_told_at_once(self):
        with pytest.raises(ConfigError) as caught:
            one(["search.L=5", "index.R=1"])
        assert len(str(caught.value).splitlines()) == 2


class TestCanonicalForm:
    def test_the_dump_loads_to_the_same_configuration(self, tmp_path):
        for point in load_experiment("quickstart").points:
            path = write(tmp_path, dump_config(point.config))
            (again,) = load_experiment(path).points
            assert again.config == point.config
            assert again.hash == point.hash

    def test_the_hash_does_not_depend_on_key_order_or_presentation(self):
        a = one(search={"k": 5, "L": 20}, seed=3)
        b = load_experiment(
            {
                "seed": 3,
                "search": {"L": 20, "k": 5},
                "description": "other",
                "plots": [{"kind": "breakdown"}],
                "dataset": {"name": "sift-photos-10k"},
                "name": "other",
            }
        )
        assert config_hash(a) == b.points[0].hash

    @pytest.mark.parametrize(
        "setting", ["seed=1", "search.L=65", "hardware=ideal", "dataset.n=100", "driver.kind=local"]
    )
    def test_the_hash_depends_on_what_decides_the_numbers(self, setting):
        assert config_hash(one([setting])) != config_hash(one())

    def test_the_hash_depends_on_the_content_of_a_profile_not_on_its_place(self, tmp_path):
        profiles = [
            write(tmp_path, text, f"{folder}/p.yaml") for folder, text in (("a", "x: 1"), ("b", "x: 1"), ("c", "x: 2"))
        ]
        a, b, c = (config_hash(one({"hardware": str(path)})) for path in profiles)
        assert a == b
        assert a != c

    def test_the_hash_depends_on_the_truths_of_a_data_set_however_they_are_keyed(self, tmp_path):
        texts = ("truth: {100: a}", "truth: {100: a}", "truth: {100: b}", 'truth: {"100": a}', "truth: {200: a}")
        paths = [write(tmp_path, text, f"{folder}/set.yaml") for folder, text in enumerate(texts)]
        first, same, other_file, as_text, other_size = (config_hash(one({"dataset.name": str(path)})) for path in paths)
        assert first == same == as_text
        assert len({first, other_file, other_size}) == 3

    def test_prices_of_other_codes_do_not_count(self, tmp_path):
        prices = ("sq8_miss_ns", "full_distance_base_ns", "compact_miss_per_byte_ns", "compact_miss_ns")
        base = write(tmp_path, "cpu: {x: 1}", "a/p.yaml")
        more = [write(tmp_path, f"cpu: {{x: 1, {key}: 2}}", f"{key}/p.yaml") for key in prices]
        for codes, counted in (
            ({"kind": "pq", "bytes": 20}, [False, False, False, True]),
            ({"kind": "pq", "bytes": 64}, [False, False, True, True]),
            ({"kind": "sq8"}, [True, False, True, True]),
        ):
            hashes = [config_hash(one({"hardware": str(path)}, codes=codes)) for path in (base, *more)]
            assert [found != hashes[0] for found in hashes[1:]] == counted

    @pytest.mark.parametrize(
        "block",
        [
            {"index": {"kind": "file", "format": "diskann", "path": "large"}},
            {"codes": {"kind": "file", "pivots": "large"}},
            {"codes": {"kind": "file", "pivots": "other", "codes": "large"}},
            {"driver": {"kind": "replay", "log": "large"}},
        ],
    )
    def test_the_hash_tells_one_file_of_another_tool_from_what_replaced_it(self, tmp_path, monkeypatch, block):
        monkeypatch.chdir(tmp_path)
        before = write(tmp_path, "one", "large") and config_hash(one(**block))
        assert config_hash(one(**block)) == before
        write(tmp_path, "another", "large")
        assert config_hash(one(**block)) != before

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("remote_vamana", "bad0282b258f6c5b"),
            ("riftann", "c715795ce9923b96"),
            ("distvs", "b23e64da2d127946"),
            ("d_hnsw", "67534a45ccc8dd24"),
        ],
    )
    def test_the_hash_of_a_configuration_never_changes_by_itself(self, kind, expected):
        """Recorded runs are found by it: a new key must not change the hash of what does not name it."""
        config = one({"hardware": "none-of-ours", "dataset.name": "none-of-ours"}, system={"kind": kind})
        assert config_hash(config) == expected

    def test_a_key_that_came_later_counts_where_it_is_used(self):
        systems = ({"kind": "distvs"}, {"kind": "distvs", "intake": "all"}, {"kind": "distvs", "connections": "dealt"})
        assert len({config_hash(one(system=system)) for system in systems}) == 3
