"""The pipelined search against a slow model and against a case worked out by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_oracle import PipelineModel
from search_worlds import graph_of, make_world, random_worlds

from riftsim.kernels import query as q
from riftsim.search.messages import Work
from riftsim.search.pipelined import PipelinedSearch, PipelineRules

WORLDS = random_worlds(hidden=1)


def pair(world, query, *, list_size, k, entries=None, **rules):
    """The program and its model, both started; the program's first step."""
    model = PipelineModel(world, query, list_size=list_size, k=k, entries=entries, **rules)
    settings = PipelineRules(rules["start_width"], rules["max_width"], rules["marker"], rules["most_waste"])
    given_entries = None
    if entries is not None:
        nodes, distances = (np.array(column) for column in zip(*entries, strict=True))
        given_entries = lambda _: (nodes.astype(np.int32), distances.astype(np.float32), Work())  # noqa: E731
    program = PipelinedSearch(
        *world.search_arguments(), list_size=list_size, k=k, rules=settings, entries=given_entries
    )
    step = program.start(query)
    assert [read.node for read in step.chain] == model.first
    return program, model, step


def run_beside(program, model, step, draw):
    """Let both search under one random schedule of completions and compare every turn."""
    open_reads = {read.tag: read.node for read in step.chain}
    early: set[int] = set()
    filled = not step.resume
    last = step
    while not last.done:
        count = draw.integers(0 if last.resume else 1, len(open_reads) + 1)
        done = draw.permutation(sorted(open_reads))[:count].tolist()
        early |= {open_reads.pop(tag) for tag in done}
        step = program.receive(done, [])
        last = step.parts()[-1]
        if not filled:
            model.fill_table()
            filled = True
            assert step.chain == ()
            continue
        asked = model.turn(early)
        early = set()
        assert [read.node for read in step.chain] == asked
        assert program.state.numbers[q.WINDOW] == model.width
        open_reads |= {read.tag: read.node for read in step.chain}
        if not last.resume and not last.done:
            assert open_reads, "waits for nothing"
    assert model.ended
    answer = program.answer()
    assert answer.ids.tolist() == model.results()
    assert answer.counts["exact_evaluations"] == len(model.worked_on)
    assert answer.counts["reads_record"] == len(model.asked)
    assert answer.counts["width"] == model.width
    return answer


@settings(max_examples=120)
@given(
    WORLDS, st.integers(0, 3), st.integers(1, 6), st.integers(0, 9), st.integers(1, 4), st.integers(0, 6),
    st.integers(0, 5), st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 5), st.integers(0, 1 << 30),
)  # fmt: skip
def test_every_turn_equals_the_model(world, query, k, longer, start, wider, marker, waste, entry_points, seed):
    draw = np.random.default_rng(seed)
    entries = None
    if entry_points:
        exact = world.exact(query)
        nodes = draw.permutation(len(world.vectors))[:entry_points]
        entries = [(int(node), float(exact[node])) for node in nodes]
    rules = {"start_width": start, "max_width": start + wider, "marker": marker, "most_waste": waste}
    run_beside(*pair(world, query, list_size=k + longer, k=k, entries=entries, **rules), draw)


def test_real_vectors_equal_the_model_with_wide_pipelines(photos):
    for query in range(6):
        rules = {"start_width": 4, "max_width": 32, "marker": 5, "most_waste": 0.1}
        searches = pair(photos, query, list_size=40, k=10, **rules)
        answer = run_beside(*searches, np.random.default_rng(query))
        assert answer.counts["width"] >= 4


def test_the_width_in_a_case_worked_out_by_hand():
    """Node 0 leads to 1-8, of which 3 leads to 9-14, all nearer than those before; the list holds eight.

    The width is controlled from the turn on at which five candidates have been asked for; it grows with each arrival
    (by one, however many arrive at once) until the reads of 5 to 8 arrive, whose nodes 9-14 have pushed out.
    """
    value = [200, *range(100, 108), *range(1, 7)]
    vectors = np.zeros((15, 8), np.uint8)
    vectors[:, 0] = value
    lists = [[] for _ in range(15)]
    lists[0], lists[3] = list(range(1, 9)), list(range(9, 15))
    world = make_world(vectors, np.zeros((1, 8), np.uint8), graph_of(lists))
    program = PipelinedSearch(
        *world.search_arguments(), list_size=8, k=1, rules=PipelineRules(4, 8, marker=5, most_waste=0.1)
    )
    step = program.start(0)
    tags = {0: step.chain[0].tag}
    turns = [  # nodes whose reads complete, nodes asked for, width, whether the search goes on by itself
        ([0], [], 4, True),
        ([], [1], 4, True),
        ([], [2], 4, True),
        ([], [3], 4, True),
        ([], [4], 4, False),
        ([1], [5], 4, False),
        ([2], [6], 5, True),
        ([], [7], 5, False),
        ([3, 4], [8], 6, True),
        ([5], [9], 6, True),
        ([], [10], 6, True),
        ([], [11], 6, False),
        ([9], [], 6, False),  # the reads of 6, 7 and 8 were posted before
        ([8, 6, 7], [12], 6, True),
        ([], [13], 6, True),
        ([], [14], 6, False),
        ([10], [], 6, False),
        ([12, 11], [], 6, True),
        ([], [], 6, False),
        ([14, 13], [], 6, True),
        ([], [], 6, False),
    ]
    for number, (completed, asked, width, goes_on) in enumerate(turns):
        step = program.receive([tags[node] for node in completed], [])
        tags |= {read.node: read.tag for read in step.chain}
        found = [read.node for read in step.chain], int(program.state.numbers[q.WINDOW]), step.parts()[-1].resume
        assert found == (asked, width, goes_on), number
    assert step.done
    answer = program.answer()
    assert answer.ids.tolist() == [9]
    assert (answer.counts["reads_record"], answer.counts["exact_evaluations"]) == (15, 10)


def test_reads_that_fail_are_asked_for_again(photos):
    rules = PipelineRules()
    program = PipelinedSearch(*photos.search_arguments(), list_size=20, k=10, rules=rules)
    calm = PipelinedSearch(*photos.search_arguments(), list_size=20, k=10, rules=rules)
    step, other = program.start(3), calm.start(3)
    for _ in range(2):
        step = program.retry([read.tag for read in step.chain])
    while not step.parts()[-1].done:
        step = program.receive([read.tag for read in step.chain], [])
    while not other.parts()[-1].done:
        other = calm.receive([read.tag for read in other.chain], [])
    assert program.answer().ids.tolist() == calm.answer().ids.tolist()
    assert program.answer().counts["retried"] == 2
