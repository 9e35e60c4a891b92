"""The experiments and fragments that come with the repository: sound, documented, and what they say they are."""

from pathlib import Path

import pytest

from riftsim.config.canonical import to_plain
from riftsim.config.sweep import load_experiment
from riftsim.config.systems import AsyncVamanaConfig, RemoteVamanaConfig, RiftAnnConfig

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "experiments").glob("*/*.yaml"))
FOLDERS = sorted({file.parent for file in FILES})


def based_on(fragment, **more):
    content = {"base": [f"systems/{fragment}.yaml"], "name": "one", "dataset": {"name": "sift-photos-10k"}, **more}
    return load_experiment(content).points[0].config


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_experiment_is_sound_and_runs_on_the_bundled_set(file):
    experiment = load_experiment(file)
    assert experiment.name == file.parent.name
    assert experiment.config.description.endswith("?"), "an experiment asks something"
    assert {point.config.dataset.name for point in experiment.points} == {"sift-photos-10k"}
    assert len(experiment.points) <= 100
    for plot in experiment.config.plots:
        for conditions in plot.series.values():
            assert conditions, "a series without a condition holds every run"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_experiment_is_described(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    for heading in ("**Question", "**The paper", "expect", "**What differs"):
        assert heading.lower() in text.lower()
    assert f"({folder.name}/README.md)" in (folder.parent / "README.md").read_text(encoding="utf-8")
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "systems").glob("*.md"))
    assert f"experiments/{folder.name}/README.md" in pages


def test_every_named_series_has_runs():
    for file in FILES:
        experiment = load_experiment(file)
        flat = [_flat(to_plain(point.config)) for point in experiment.points]
        for plot in experiment.config.plots:
            for name, conditions in plot.series.items():
                fitting = [
                    point
                    for point in flat
                    if all(point.get(key, point.get(f"{key}.kind")) == value for key, value in conditions.items())
                ]
                assert fitting, (file, name)


def _flat(value, prefix=""):
    if not isinstance(value, dict):
        return {prefix: value}
    return {
        key: item for name, inner in value.items() for key, item in _flat(inner, f"{prefix}.{name}".lstrip(".")).items()
    }


def test_the_fragment_of_riftann_says_what_the_defaults_are():
    config = based_on("riftann")
    assert config.system == RiftAnnConfig()
    assert (config.index.R, config.index.L, config.codes.bytes) == (96, 128, 20)
    assert (config.cluster.threads, config.cluster.memory_budget_gb, config.search.k) == (32, 24.0, 10)


def test_the_two_remote_vamanas_differ_in_codes_and_verification():
    section2, section44 = based_on("remote_vamana_section2"), based_on("remote_vamana_section44")
    assert (section2.codes.bytes, section44.codes.bytes) == (64, 20)
    assert section2.system == RemoteVamanaConfig(verification="expansion-only")
    assert section44.system == RemoteVamanaConfig(verification="verify-all")
    asynchronous = based_on("async_vamana")
    assert asynchronous.codes.bytes == 64
    assert asynchronous.system == AsyncVamanaConfig(verification="expansion-only")


def test_every_system_of_a_comparison_has_a_fragment_and_a_page():
    """Graph, threads and memory of the paper, and the page says where the fragment is."""
    for kind in ("in_memory_vamana", "async_vamana", "riftann", "d_hnsw", "distvs", "cxl_ann", "diskann", "pipeann"):
        config = based_on(kind)
        assert config.system.__struct_config__.tag == kind
        assert (config.cluster.threads, config.cluster.memory_budget_gb, config.search.k) == (32, 24.0, 10)
        assert kind == "d_hnsw" or (config.index.R, config.index.L) == (96, 128), "d-HNSW has partitions in its place"
        page = (ROOT / "docs" / "systems" / f"{kind}.md").read_text(encoding="utf-8")
        assert f"systems/{kind}.yaml" in page


def test_thread_counts_of_table_3_keep_the_queries_per_thread():
    for threads, concurrency in ((16, 15), (48, 46)):
        (point,) = load_experiment(ROOT / "experiments" / "table3_scaling" / f"threads{threads}.yaml").points
        assert point.config.cluster.threads == threads
        assert point.config.load.concurrency == concurrency
        assert concurrency / threads == pytest.approx(30.6 / 32, abs=0.025)
