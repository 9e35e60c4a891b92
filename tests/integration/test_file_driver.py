"""DiskANN and PipeANN over real reads of a file, and what ends in an error instead."""

import os
import re
import resource
import threading

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError, IndexFileError, TransportError
from riftsim.experiments.runner import run_experiment
from riftsim.index.sectors import SECTOR_BYTES, SectorLayout
from riftsim.results.store import load_runs
from riftsim.storage.file_port import FilePort
from riftsim.transport.port import Read

LAYOUT = SectorLayout(128 + 4 + 4 * 16)


def supports_direct_reads(folder) -> bool:
    path = folder / "probe"
    path.write_bytes(bytes(SECTOR_BYTES))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


def point_content(system, driver):
    return {
        "name": "disk",
        "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": 20},
        "index": {"kind": "vamana", "R": 16, "L": 32},
        "codes": {"kind": "pq", "bytes": 16},
        "search": {"k": 10, "L": 24},
        "load": {"kind": "closed", "concurrency": 3},
        "system": system,
        "driver": driver,
    }


def run(store, system, driver, **changes):
    (point,) = load_experiment(point_content(system, driver) | changes).points
    return run_point(point.config, artifacts=store)


def on_disk(store, folder, system, **driver):
    return run(store, system, {"kind": "file", "folder": str(folder), "readers": 8, "direct": False} | driver)


def index_file(folder):
    (path,) = folder.glob("*_disk.index")
    return path


def by_query(result):
    return result.ids[np.argsort(result.queries["query"], kind="stable")]


@pytest.mark.parametrize("cached", [0, 150])
def test_diskann_finds_on_disk_what_it_finds_in_memory(store, tmp_path, cached):
    system = {"kind": "diskann", "beam_width": 4, "cached_nodes": cached}
    direct = supports_direct_reads(tmp_path)
    found, expected = on_disk(store, tmp_path, system, direct=direct), run(store, system, {"kind": "local"})
    assert np.array_equal(by_query(found), by_query(expected))
    for name in ("reads_record", "bytes_read", "expansions"):
        assert found.queries[name].sum() == expected.queries[name].sum()
    assert index_file(tmp_path).stat().st_size == LAYOUT.file_bytes(2000)
    assert found.facts["driver"] == "file"
    assert "drive" not in found.facts["system"]
    assert (found.queries["end_ps"] > found.queries["start_ps"]).all()


@pytest.mark.parametrize("loops", [1, 2])
def test_pipeann_finds_on_disk_about_what_it_finds_in_memory(store, tmp_path, loops):
    system = {"kind": "pipeann"}
    found, expected = on_disk(store, tmp_path, system, event_loops=loops), run(store, system, {"kind": "local"})
    assert found.queries["recall"].mean() > expected.queries["recall"].mean() - 0.03
    assert found.queries["bytes_read"].sum() == SECTOR_BYTES * found.queries["reads_record"].sum()


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [(128, 17, "degree 17, expected at most 16"), (132, 2000, "neighbour 2000, expected rows 0 to 1999")],
)
@pytest.mark.parametrize("kind", ["diskann", "pipeann"])
def test_a_corrupt_sector_names_its_row(store, tmp_path, kind, at, value, message):
    on_disk(store, tmp_path, {"kind": kind})
    content = np.fromfile(index_file(tmp_path), np.uint8)
    for row in range(2000):
        place = LAYOUT.sector_at(row) + LAYOUT.within(row) + at
        content[place : place + 4] = np.frombuffer(value.to_bytes(4, "little"), np.uint8)
    content.tofile(index_file(tmp_path))
    with pytest.raises(IndexFileError, match=rf"_disk\.index: byte \d+: record of row \d+: found {message}"):
        on_disk(store, tmp_path, {"kind": kind})


def test_a_short_file_is_refused(store, tmp_path):
    on_disk(store, tmp_path, {"kind": "diskann"})
    os.truncate(index_file(tmp_path), 3 * SECTOR_BYTES)
    with pytest.raises(IndexFileError, match=rf"found {3 * SECTOR_BYTES} bytes, expected {LAYOUT.file_bytes(2000)}"):
        on_disk(store, tmp_path, {"kind": "diskann"})


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize("kind", ["diskann", "pipeann"])
def test_a_read_that_fails_ends_the_run_and_nothing_is_recorded(store, tmp_path, monkeypatch, kind, loops):
    """The file loses its end once it is open, as when a drive fails under a run."""

    def open_and_cut(path, *arguments, **settings):
        port = FilePort(path, *arguments, **settings)
        os.truncate(path, 3 * SECTOR_BYTES)
        return port

    monkeypatch.setattr("riftsim.assembly.disk.FilePort", open_and_cut)
    monkeypatch.setenv("RIFTSIM_CACHE_DIR", str(store.root))
    driver = {"kind": "file", "folder": str(tmp_path / "drive"), "readers": 4, "direct": False, "event_loops": loops}
    experiment = load_experiment(point_content({"kind": kind}, driver))
    (outcome,) = run_experiment(experiment, out=tmp_path / "results").outcomes
    path = re.escape(str(index_file(tmp_path / "drive")))
    failed = re.search(rf"{path}: read of 4096 bytes at byte (\d+): found 0 bytes, the end of the file", outcome.error)
    assert failed, outcome.error
    assert int(failed[1]) in range(3 * SECTOR_BYTES, LAYOUT.file_bytes(2000), SECTOR_BYTES)
    assert load_runs(tmp_path / "results").runs == []
    assert not any(thread.name.startswith("file-reader") for thread in threading.enumerate())


def test_a_full_disk_leaves_nothing_behind(store, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20 * SECTOR_BYTES, hard))
    try:
        with pytest.raises(IndexFileError, match=r"_disk\.index: cannot be written: .*; expected room for 404\.0 KiB"):
            on_disk(store, tmp_path, {"kind": "diskann"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_drive_and_a_network_are_not_confused():
    for system, driver, message in (
        ({"kind": "riftann"}, {"kind": "file"}, "found 'riftann' with driver 'file'"),
        ({"kind": "diskann"}, {"kind": "live", "memnodes": ["a:1"]}, "found 'live' with system 'diskann'"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_experiment({"name": "x", "dataset": {"name": "sift-photos-10k"}, "system": system, "driver": driver})


# ---------------------------------------------------------------- the port by itself


def polled(port, count):
    done = []
    while len(done) < count:
        done += port.poll()
    return done


def test_a_port_brings_the_bytes_of_every_read(tmp_path):
    content = np.random.default_rng(0).integers(0, 256, 40 * SECTOR_BYTES).astype(np.uint8)
    path = tmp_path / "file"
    content.tofile(path)
    port = FilePort(path, 32, SECTOR_BYTES, threads=3, direct=supports_direct_reads(tmp_path))
    for number in range(3):
        reads = [Read(slot, (39 - slot) * SECTOR_BYTES, SECTOR_BYTES) for slot in range(number, 32, 3)]
        port.post(number, reads, last_only=number == 2)
    done = polled(port, 11 + 11 + 1)
    assert sorted(completion.wr for completion in done) == sorted([*range(0, 32, 3), *range(1, 32, 3), 29])
    for slot in range(32):
        sector = content[(39 - slot) * SECTOR_BYTES :][:SECTOR_BYTES]
        assert np.array_equal(port.buffer[slot * SECTOR_BYTES :][:SECTOR_BYTES], sector)
    port.close()
    port.close()


def test_a_read_past_the_end_and_a_read_that_fails_name_the_place(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(SECTOR_BYTES + 100))
    for target, message in (
        (path, f"{path}: read of 4096 bytes at byte 4096: found 100 bytes, the end of the file"),
        (tmp_path, f"{tmp_path}: read of 4096 bytes at byte 4096: found Is a directory"),
    ):
        port = FilePort(target, 1, SECTOR_BYTES, threads=1, direct=False)
        port.post(0, [Read(0, SECTOR_BYTES, SECTOR_BYTES)], last_only=False)
        with pytest.raises(TransportError) as failed:
            polled(port, 1)
        assert str(failed.value) == message
        port.close()


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(TransportError, match=r"nonesuch: cannot be opened for reading: No such file.*driver\.direct"):
        FilePort(tmp_path / "nonesuch", 1, SECTOR_BYTES)
