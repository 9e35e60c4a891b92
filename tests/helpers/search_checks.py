"""The model of the eager search beside the real one: told the same completions, they must say the same."""

import numpy as np
from search_oracles import EagerModel
from search_worlds import World

from riftsim.kernels import query as q
from riftsim.kernels.candidates import unpack
from riftsim.kernels.gate import GATE_ORACLE
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.search.messages import Step


def make_tiny(program) -> None:
    """Replace the state's arrays by ones so small that every one of them must grow."""
    state = program._state
    nodes, pending, tasks, trail = 8, 4, 2, 2
    program._set_state(
        state._replace(
            node_ids=np.full(nodes, -1, np.int32),
            node_status=np.zeros(nodes, np.uint8),
            unverified=np.zeros(min(nodes, len(state.unverified)), np.uint64),
            pending_ids=np.zeros(pending, np.int32),
            pending_distances=np.zeros(pending, np.float32),
            tasks=np.zeros((tasks, q.TASK_COLUMNS), np.int64),
            trail=np.zeros((trail, q.TRAIL_COLUMNS), np.int32),
            kept_nodes=state.kept_nodes[:1],
            kept_lists=state.kept_lists[:1],
        )
    )


def state_copy(program) -> list[np.ndarray]:
    """The arrays of a program's state, to see whether a refused call has changed any."""
    return [array.copy() for array in program._state]


class EagerPair:
    """An ``EagerSearch`` and its model side by side; every step is compared, and so are the lists between steps."""

    def __init__(
        self, world: World, query: int, *, list_size: int, k: int, rules: EagerRules, tiny: bool = False, program=None
    ):
        self.world, self.rules, self.query, self.k, self.list_size = world, rules, query, k, list_size
        self.program = program or EagerSearch(
            *world.search_arguments(), list_size=list_size, k=k, rules=rules, true_ids=world.true_neighbors(k)
        )
        if tiny:
            make_tiny(self.program)
        by_expansions = rules.window_counts == q.WINDOW_OF_EXPANSIONS
        self.most = rules.max_window + (rules.verify_cap if by_expansions else 0)
        self.model = EagerModel(world, query, list_size, k, rules)
        self.posted: list[int] = []
        self.finished_reads: list[int] = []
        self.finished_tasks: list[int] = []
        self.done = False
        self._check(self.program.start(query), [])

    @property
    def reads(self) -> list[int]:
        """Tags in flight, in order of posting."""
        return list(self.model.in_flight)

    @property
    def tasks(self) -> list[int]:
        """Open tasks in order."""
        return list(self.model.tasks)

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Complete some reads and tasks on both sides."""
        self.finished_reads += reads
        self.finished_tasks += tasks
        new_tasks = self.model.receive(reads, tasks)
        step = self.program.receive(list(reads), list(tasks))
        self._check(step, new_tasks)
        return step

    def _check(self, step: Step, new_tasks: list[tuple[int, int]]) -> None:
        said = iter(step.chain)
        chain, more_tasks = self.model.decide(self.most, lambda node, kind: next(said).tag)
        assert [(read.node, read.kind) for read in step.chain] == chain
        assert [tuple(task) for task in step.tasks] == new_tasks + more_tasks
        for read in step.chain:
            self._check_place(read)
        tags = [read.tag for read in step.chain]
        assert tags == sorted(tags)
        assert not set(tags) & set(self.posted), "a tag was used twice"
        self.posted += tags
        self.done = not self.model.in_flight and not self.model.tasks
        assert step.done == self.done
        self._check_state()

    def _check_place(self, read) -> None:
        layout = self.world.region.layout
        record, vector, adjacency = layout.record_bytes, layout.vector_bytes, layout.adjacency_bytes
        first, length = ((0, record), (0, vector), (vector, adjacency))[read.kind]
        memory_nodes, offsets = self.world.region.locate(read.node)
        assert (read.memory_node, read.offset_bytes) == (memory_nodes[0], offsets[0] + first)
        assert read.length_bytes == length

    def _check_state(self) -> None:
        books, numbers = self.model.books, self.program._state.numbers
        size = int(numbers[q.LIST_SIZE])
        assert size <= self.list_size
        ids, distances = unpack(self.program._state.candidates, size)
        assert list(zip(distances[:size].tolist(), ids[:size].tolist(), strict=True)) == books.candidates
        assert len(set(ids[:size].tolist())) == size
        awaited, in_flight = self.model.awaited, len(self.model.in_flight)
        assert (numbers[q.IN_FLIGHT], numbers[q.AWAITED]) == (in_flight, awaited)
        if self.rules.window_counts == q.WINDOW_OF_READS:
            assert in_flight <= self.rules.max_window
        else:
            assert awaited <= self.rules.max_window
            assert in_flight - awaited <= self.rules.verify_cap
        assert self.program.counters() == (self.model.unfinished, self.model.generated, self.model.window)

    def set_window(self, window: int) -> None:
        """What a controller does."""
        self.program.apply(window)
        self.model.window, self.model.generated = window, 0

    def check_end(self) -> None:
        """Nothing is left that could change the results, and the answer is right."""
        model, books = self.model, self.model.books
        assert self.done
        assert books.next_untaken() is None
        assert books.next_to_verify() is None
        answer = self.program.answer()
        assert answer.ids.tolist() == books.results()
        for node, distance in zip(answer.ids.tolist(), answer.distances.tolist(), strict=True):
            assert distance == (books.exact[node] if node >= 0 else float("inf"))
            if node >= 0:
                assert node in books.taken or (node in books.entered and books.passes(node))
        counts = answer.counts
        for name, value in books.all_counts().items():
            assert counts[name] == value, name
        layout = self.world.region.layout
        vectors = counts["reads_record"] + counts["reads_vector"]
        lists = counts["reads_record"] + counts["reads_adjacency"]
        assert counts["bytes_read"] == vectors * layout.vector_bytes + lists * layout.adjacency_bytes
        assert counts["requests_merged"] == model.merged
        assert counts["requests_dropped"] == model.dropped()
        assert counts["gate_closed"] == model.closed
        assert counts["hidden_updates"] == sum(model.hidden_updates())
        if self.rules.gate == GATE_ORACLE:
            assert all(hidden <= self.rules.gate_bound for hidden in model.hidden_updates())
        if self.rules.verify == q.VERIFY_ORACLE:
            assert counts["reads_vector"] <= self.k or self.rules.full_record
            discovered = [node for node in books.true if node in books.entered]
            assert set(discovered) <= books.has_vector
        assert answer.trail[:, q.TRAIL_HIDDEN].tolist() == model.hidden_updates()
        assert answer.trail[:, q.TRAIL_BACKLOG].tolist() == model.backlogs
        assert answer.trail[:, q.TRAIL_INSERTED].sum() == counts["insertions"] - 1
        assert answer.trail[:, q.TRAIL_NEW].sum() == counts["evaluations"] - 1
        assert len(self.posted) == len(set(self.posted)) == len(self.finished_reads)
        assert len(self.finished_tasks) == len(set(self.finished_tasks))
