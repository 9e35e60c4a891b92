"""DiskANN and PipeANN as systems: what they read, what it costs, and what is refused."""

import dataclasses

import numpy as np
import pytest
from search_oracles import search_in_rounds
from search_runs import answers_of, assert_same, local_answers, simulate, system_of
from search_worlds import random_world

from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError
from riftsim.index.sectors import SectorLayout
from riftsim.storage.profile import load_ssd_profile
from riftsim.testing import check_program

SYSTEMS = [("diskann", {}), ("diskann", {"cached_nodes": 100}), ("pipeann", {}), ("pipeann", {"entry_share": 0.0})]
IDS = [f"{name}-{'-'.join(keys)}" for name, keys in SYSTEMS]


@pytest.mark.parametrize(("name", "settings"), SYSTEMS, ids=IDS)
def test_programs_keep_the_contract(name, settings):
    system = system_of(name, random_world(1, n=90, degree=7), list_size=12, k=4, **settings)
    check_program(system.new_program, range(4))


@pytest.mark.parametrize("cached", [0, 150])
def test_diskann_reads_the_sectors_of_what_the_oracle_expands(photos, cached):
    system = system_of("diskann", photos, list_size=20, k=10, beam_width=4, cached_nodes=cached)
    layout = SectorLayout(photos.region.layout.record_bytes)
    assert (layout.record_bytes, layout.per_sector) == (196, 20)
    program = system.new_program()
    kept = np.zeros(len(photos.vectors), bool)
    if cached:
        kept = program.inner._cached
        assert (kept.sum(), system.facts["cached_nodes"]) == (cached, cached)
        assert kept[photos.graph.start]
    for query in range(4):
        books, chains = search_in_rounds(photos, query, list_size=20, k=10, beam=4)
        step, said = program.start(query), []
        while not step.done:
            said.append(step.chain)
            step = program.receive([read.tag for read in step.chain], [])
        answer = program.answer()
        assert answer.ids.tolist() == books.results()
        from_disk = [[node for node, _ in chain if not kept[node]] for chain in chains]
        assert [[read.node for read in chain] for chain in said] == [chain for chain in from_disk if chain]
        for read in (read for chain in said for read in chain):
            assert (read.offset_bytes, read.length_bytes) == (4096 * (1 + read.node // 20), 4096)
        reads = sum(map(len, said))
        assert (answer.counts["reads_record"], answer.counts["bytes_read"]) == (reads, 4096 * reads)
        assert answer.counts["exact_evaluations"] == books.counts["exact_evaluations"]


def test_diskann_caches_a_tenth_at_most(photos):
    assert system_of("diskann", photos, cached_nodes=100_000).facts["cached_nodes"] == 200


@pytest.mark.parametrize(("name", "settings"), SYSTEMS, ids=IDS)
def test_time_is_all_accounted_for(photos, name, settings):
    run = simulate(system_of(name, photos, **settings), queries=12, threads=2, concurrency=2)
    for query in run.runs:
        parts = query.evaluation_ps + query.posting_ps + query.polling_ps + sum(query.waited_ps)
        assert query.end_ps - query.arrival_ps == parts + query.start_ps - query.arrival_ps
    (drive,) = run.facts["network"]["drives"]
    assert drive["reads"] >= sum(query.answer.counts["reads_record"] for query in run.runs)


def test_diskanns_answers_do_not_depend_on_the_clock(photos):
    system = system_of("diskann", photos, cached_nodes=100)
    assert_same(answers_of(simulate(system, queries=10)), local_answers(system, 10))


def test_diskann_takes_a_drives_latency_per_round(photos):
    """One query alone: each round takes an unloaded read, the sectors that share a unit of flash, and the CPU."""
    run = simulate(system_of("diskann", photos), queries=10, threads=1, concurrency=1)
    drive = load_ssd_profile("samsung-980pro")
    for query in run.runs:
        rounds = query.answer.counts["hops"]
        assert rounds * drive.unloaded_ps() < query.end_ps - query.start_ps < rounds * 2.5 * drive.unloaded_ps()


def test_pipeann_hides_what_diskann_waits_for(photos):
    """At the same candidate list: fewer microseconds, about as many reads."""
    found = {}
    for name in ("diskann", "pipeann"):
        run = simulate(system_of(name, photos, list_size=40), queries=20, threads=1, concurrency=1)
        times = [query.end_ps - query.start_ps for query in run.runs]
        found[name] = np.mean(times), np.mean([query.answer.counts["reads_record"] for query in run.runs])
    assert found["pipeann"][0] < 0.9 * found["diskann"][0]
    assert found["pipeann"][1] < 1.3 * found["diskann"][1]


def test_the_compiled_engine_refuses_a_drive(photos):
    with pytest.raises(ConfigError, match="the model of SSDs is Python"):
        simulate(system_of("diskann", photos), engine=run_compiled)


def test_a_pipelined_search_posts_before_it_works(photos):
    """The read that a turn asks for leaves before the work on the turn's record."""
    program = system_of("pipeann", photos).new_program()
    step = program.start(0)
    assert step.resume
    assert step.work.local_exact > 0
    table = program.receive([], [])
    assert (table.work.table_entries, table.work.compact, table.chain) == (photos.table_entries, 10, ())
    turn = program.receive([read.tag for read in step.chain], [])
    assert (len(turn.chain), turn.work.lists, turn.then.work.lists, turn.then.chain) == (1, 0, 1, ())
    assert turn.then.resume


def test_a_faster_drive_makes_a_faster_search(photos):
    system = system_of("pipeann", photos)
    slow = load_ssd_profile("samsung-980pro")
    fast = dataclasses.replace(slow, media_ps=slow.media_ps // 4)
    means = []
    for drive in (slow, fast):
        run = simulate(system, queries=10, threads=1, concurrency=1, drive=drive)
        means.append(np.mean([query.end_ps - query.start_ps for query in run.runs]))
    assert means[1] < 0.7 * means[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cluster.memory_nodes": 2}, "cluster.memory_nodes: found 2, expected 1 with system 'diskann'"),
        ({"cluster.placement": {"kind": "hash"}}, "cluster.placement.kind: found 'hash', expected 'contiguous'"),
        ({"cluster.record_cache": {"kind": "hops"}}, "cluster.record_cache.kind: found 'hops', expected 'none'"),
        ({"system": {"kind": "pipeann", "start_width": 8, "max_width": 4}}, "system.start_width: found 8"),
        ({"driver": {"kind": "sim", "trace": {}}}, "driver.trace: found one with system 'diskann'"),
        ({"system.beam_width": 200}, "system.beam_width: found 200, expected at most search.L"),
    ],
)
def test_settings_that_contradict_are_named(changes, message):
    base = {"name": "x", "dataset": {"name": "sift-photos-10k"}, "system": {"kind": "diskann"}}
    with pytest.raises(ConfigError, match=message.replace(".", r"\.")):
        load_experiment(base, changes)
