"""The artifact cache: hits, damage, interruption, and two processes that want the same artifact."""

import json
import multiprocessing
import os

import numpy as np
import pytest

from riftsim.artifacts import Artifact, ArtifactStore, artifact_key
from riftsim.errors import IndexFileError

RECIPE = {"dataset": "abc", "R": 32, "alpha": 1.2}


def _make():
    arrays = {"rows": np.arange(12, dtype=np.int32).reshape(3, 4), "empty": np.zeros((0, 4), np.float32)}
    return Artifact(arrays, {"cpu_s": 1.5, "count": np.int64(7)})


def _must_not_make():
    raise AssertionError("made although it was cached")


def test_second_request_reads_what_the_first_made(tmp_path):
    store = ArtifactStore(tmp_path)
    first = store.get_or_make("graph", RECIPE, _make)
    second = store.get_or_make("graph", dict(reversed(RECIPE.items())), _must_not_make)
    assert (first.facts["cached"], second.facts["cached"]) == (False, True)
    assert second.facts["count"] == 7
    for name, array in _make().arrays.items():
        for artifact in (first, second):
            assert type(artifact.arrays[name]) is np.ndarray
            assert artifact.arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(artifact.arrays[name], array)


def test_key_depends_on_kind_and_every_recipe_value():
    assert artifact_key("graph", RECIPE) == artifact_key("graph", {**RECIPE, "R": np.int64(32)})
    assert artifact_key("graph", RECIPE) != artifact_key("codes", RECIPE)
    assert artifact_key("graph", RECIPE) != artifact_key("graph", {**RECIPE, "R": 33})


def test_writing_to_a_loaded_array_leaves_the_file(tmp_path):
    store = ArtifactStore(tmp_path)
    store.get_or_make("graph", RECIPE, _make).arrays["rows"][:] = 0
    assert store.get_or_make("graph", RECIPE, _must_not_make).arrays["rows"][2, 3] == 11


def _truncate(folder):
    path = folder / "rows.npy"
    path.write_bytes(path.read_bytes()[:-3])
    return path


def _flip(folder):
    path = folder / "rows.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    return path


def _lose_array(folder):
    (folder / "rows.npy").unlink()
    return folder / "rows.npy"


def _lose_manifest(folder):
    (folder / "manifest.json").unlink()
    return folder / "manifest.json"


def _break_manifest(folder):
    (folder / "manifest.json").write_text('{"format": 1')
    return folder / "manifest.json"


def _swap_manifest(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["recipe"]["R"] = 64
    path.write_text(json.dumps(manifest))
    return path


def _lie_about_shape(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["arrays"]["rows"]["shape"] = [4, 3]
    del manifest["seal"]
    path.write_text(json.dumps(manifest))
    return folder / "rows.npy"


def _lose_a_fact(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["facts"] = {}
    path.write_text(json.dumps(manifest))
    return path


def _forget_an_array(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["arrays"]["rows"]
    path.write_text(json.dumps(manifest))
    return path


@pytest.mark.parametrize(
    "damage",
    [
        _truncate,
        _flip,
        _lose_array,
        _lose_manifest,
        _break_manifest,
        _swap_manifest,
        _lie_about_shape,
        _lose_a_fact,
        _forget_an_array,
    ],
)
def test_damage_is_refused_and_says_what_to_remove(tmp_path, damage):
    store = ArtifactStore(tmp_path)
    store.get_or_make("graph", RECIPE, _make)
    folder = store.folder("graph", RECIPE)
    path = damage(folder)
    with pytest.raises(IndexFileError) as refused:
        store.get_or_make("graph", RECIPE, _must_not_make)
    assert str(path) in str(refused.value)
    assert f"remove the folder {folder}" in str(refused.value)


def test_an_entry_of_an_earlier_version_has_no_seal(tmp_path):
    store = ArtifactStore(tmp_path)
    store.get_or_make("graph", RECIPE, _make)
    path = store.folder("graph", RECIPE) / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["seal"]
    path.write_text(json.dumps(manifest))
    assert store.get_or_make("graph", RECIPE, _must_not_make).facts["cached"]


def test_failed_make_leaves_nothing_and_can_be_repeated(tmp_path):
    store = ArtifactStore(tmp_path)

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.get_or_make("graph", RECIPE, fail)
    with pytest.raises(TypeError, match="cannot be part"):
        store.get_or_make("graph", RECIPE, lambda: Artifact({"rows": np.arange(3)}, {"bad": object()}))
    assert [path.suffix for path in (tmp_path / "graph").iterdir()] == [".lock"]
    assert not store.get_or_make("graph", RECIPE, _make).facts["cached"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_cache_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(IndexFileError, match="RIFTSIM_CACHE_DIR"):
        ArtifactStore(tmp_path / "cache").get_or_make("graph", RECIPE, _make)


def test_cache_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(IndexFileError, match="RIFTSIM_CACHE_DIR"):
        ArtifactStore(tmp_path / "cache").get_or_make("graph", RECIPE, _make)


def _ask(root, barrier, log, results):
    def make():
        with open(log, "a") as file:
            file.write("made\n")
        return Artifact({"rows": np.arange(200_000, dtype=np.int64)})

    barrier.wait()
    artifact = ArtifactStore(root).get_or_make("graph", RECIPE, make)
    results.put((artifact.facts["cached"], int(artifact.arrays["rows"].sum())))


def test_two_processes_make_it_once(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(2), context.Queue()
    log = tmp_path / "log"
    workers = [context.Process(target=_ask, args=(tmp_path / "cache", barrier, log, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    answers = [results.get(timeout=30) for _ in workers]
    for worker in workers:
        worker.join()
    assert log.read_text() == "made\n"
    assert sorted(cached for cached, _ in answers) == [False, True]
    assert {total for _, total in answers} == {200_000 * 199_999 // 2}
