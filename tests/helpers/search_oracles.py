"""Slow models of the searches in plain Python: lists, sets and sorting, no arrays, no growth, no packing."""

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from search_worlds import World

from riftsim.kernels import gate as gates
from riftsim.kernels import query as q


class Bookkeeping:
    """What both searches share: candidate list, exact results, verification rule, counts."""

    def __init__(self, world: World, query: int, list_size: int, k: int, verify: int, alpha: float):
        self.world, self.list_size, self.k, self.verify, self.alpha = world, list_size, k, verify, alpha
        self.compact = world.compact(query).tolist()
        self.exact = world.exact(query).tolist()
        self.hidden = set(world.hidden.nonzero()[0].tolist())
        self.true = [node for node in world.true_neighbors(k)[query].tolist() if node >= 0]
        start = world.graph.start
        self.seen = {start}
        self.candidates = [(self.compact[start], start)]
        self.entered = {start}
        self.taken: list[int] = []
        """Expanded nodes in order."""
        self.has_vector: set[int] = set()
        self.has_adjacency: set[int] = set()
        self.found: list[tuple[float, int]] = []
        self.counts = {"evaluations": 1, "insertions": 1, "exact_evaluations": 0, "expansions": 0}
        self.reads = {q.READ_RECORD: 0, q.READ_VECTOR: 0, q.READ_ADJACENCY: 0}
        self.chains = 0

    def insert(self, node: int) -> bool:
        """Insert an evaluated node; whether it entered the list."""
        self.counts["evaluations"] += 1
        entry = (self.compact[node], node)
        self.candidates = sorted([*self.candidates, entry])[: self.list_size]
        inside = entry in self.candidates
        self.counts["insertions"] += inside
        return inside

    def next_untaken(self) -> int | None:
        return next((node for _, node in self.candidates if node not in self.taken), None)

    def tau(self) -> float | None:
        return sorted(self.found)[self.k - 1][0] if len(self.found) >= self.k else None

    def passes(self, node: int) -> bool:
        """The verification rule; squared distances, so alpha is squared too."""
        if self.verify == q.VERIFY_ALL:
            return True
        if self.verify == q.VERIFY_ORACLE:
            return node in self.true
        tau = self.tau()
        if self.verify == q.VERIFY_EXPANDED or tau is None:
            return False
        return self.compact[node] <= self.alpha * self.alpha * tau

    def next_to_verify(self) -> int | None:
        if self.verify == q.VERIFY_ORACLE:
            listed = {node for _, node in self.candidates} if self.next_untaken() is not None else set()
            return next((node for node in self.true if node in self.entered - self.has_vector - listed), None)
        unread = sorted((self.compact[node], node) for node in self.entered - self.has_vector)
        return next((node for _, node in unread if self.passes(node)), None)

    def ask(self, node: int, kind: int) -> tuple[int, int]:
        self.reads[kind] += 1
        if kind != q.READ_ADJACENCY:
            assert node not in self.has_vector, "a vector was asked for twice"
            self.has_vector.add(node)
        if kind != q.READ_VECTOR:
            assert node not in self.has_adjacency, "a list was asked for twice"
            self.has_adjacency.add(node)
        return node, kind

    def take_vector(self, node: int) -> None:
        self.counts["exact_evaluations"] += 1
        if node not in self.hidden:
            self.found.append((self.exact[node], node))

    def unseen(self, node: int) -> list[int]:
        fresh = []
        for other in self.world.neighbors(node):
            if other not in self.seen:
                self.seen.add(other)
                fresh.append(other)
        return fresh

    def results(self) -> list[int]:
        ids = [node for _, node in sorted(self.found)[: self.k]]
        return ids + [-1] * (self.k - len(ids))

    def bytes_read(self) -> int:
        layout = self.world.region.layout
        sizes = (layout.record_bytes, layout.vector_bytes, layout.adjacency_bytes)
        return sum(self.reads[kind] * sizes[kind] for kind in self.reads)

    def all_counts(self) -> dict[str, int]:
        return self.counts | {
            "reads_record": self.reads[q.READ_RECORD],
            "reads_vector": self.reads[q.READ_VECTOR],
            "reads_adjacency": self.reads[q.READ_ADJACENCY],
            "bytes_read": self.bytes_read(),
            "chains": self.chains,
        }


def search_in_rounds(
    world: World,
    query: int,
    *,
    list_size: int,
    k: int,
    beam: int,
    verify: int = q.VERIFY_EXPANDED,
    alpha: float = 1.0,
    held_back: Literal["dropped", "merged"] | None = None,
    limit: int = 0,
    count_empty: bool = False,
) -> tuple[Bookkeeping, list[list[tuple[int, int]]]]:
    """Round-synchronous search; its bookkeeping and the chains, each a list of (node, kind).

    With ``held_back`` the neighbours that a round brings are inserted only after the next one has been chosen; what is
    held back when ``limit`` rounds are over is merged or dropped.
    """
    books = Bookkeeping(world, query, list_size, k, verify, alpha)
    chains = []
    held, rounds, empty = [], 0, 0

    def is_over() -> bool:
        return bool(limit) and rounds + (empty if count_empty else 0) >= limit

    while True:
        if is_over() and held_back == "dropped":
            books.counts["evaluations"] += len(held)
            held = []
        elif held and (is_over() or books.next_untaken() is None):
            for node in held:
                books.insert(node)
            held = []
            empty += not is_over()
        books.entered |= {node for _, node in books.candidates}
        chain = []
        while len(chain) < beam and not is_over() and (node := books.next_untaken()) is not None:
            books.taken.append(node)
            chain.append(books.ask(node, q.READ_RECORD))
        books.counts["expansions"] += len(chain)
        if not chain:
            while len(chain) < beam and (node := books.next_to_verify()) is not None:
                chain.append(books.ask(node, q.READ_VECTOR))
        if not chain:
            return books, chains
        books.chains += 1
        chains.append(chain)
        rounds += chain[0][1] != q.READ_VECTOR
        fresh = []
        for node, kind in chain:
            books.take_vector(node)
            if kind == q.READ_RECORD:
                fresh += books.unseen(node)
        for node in held if held_back else fresh:
            books.insert(node)
        held = fresh if held_back else []


def search_sequentially(world: World, query: int, *, list_size: int, k: int) -> Bookkeeping:
    """Best-first search as a textbook has it: expand the nearest candidate, evaluate all its neighbours, repeat."""
    books = Bookkeeping(world, query, list_size, k, q.VERIFY_EXPANDED, 1.0)
    while (node := books.next_untaken()) is not None:
        books.taken.append(node)
        books.counts["expansions"] += 1
        books.take_vector(node)
        for other in books.unseen(node):
            books.insert(other)
    return books


class EagerModel:
    """The eager search under any completions: told the same, it must decide the same."""

    def __init__(self, world: World, query: int, list_size: int, k: int, rules):
        self.books = Bookkeeping(world, query, list_size, k, rules.verify, round(rules.alpha * 1e6) / 1e6)
        self.rules = rules
        self.window = rules.window
        self.in_flight: dict[int, tuple[int, int, int | None]] = {}
        """By handle: node, kind, expansion or None."""
        self.tasks: dict[int, tuple[list[int], int]] = {}
        """Open tasks: neighbours, expansion."""
        self.next_task = 1
        self.history: list[bool] = [True]
        self.kept: set[int] = set()
        self.wanted = {world.graph.start} if rules.verify == q.VERIFY_ALL and not rules.verify_evicted else set()
        self.merged = 0
        self.closed = 0
        self.decisions = 0
        self.generated = 0
        self.open_at_admission: list[set[int]] = []
        self.entered_by_task: dict[int, int] = {}
        self.backlogs: list[int] = []

    @property
    def unfinished(self) -> int:
        return sum(len(nodes) for nodes, _ in self.tasks.values())

    @property
    def awaited(self) -> int:
        return sum(expansion is not None for _, _, expansion in self.in_flight.values())

    def gate_open(self) -> bool:
        rules, unfinished = self.rules, self.unfinished
        recent = self.history[-rules.history :]
        rho = Fraction(sum(recent), len(recent))
        limit = Fraction(round(rules.gate_limit * 1e6), 10**6)
        if unfinished == 0:
            return True
        return {
            gates.GATE_WAIT_ALL: False,
            gates.GATE_UNGATED: True,
            gates.GATE_ORACLE: self.would_insert() <= rules.gate_bound,
            gates.GATE_BACKLOG: unfinished <= rules.gate_bound,
            gates.GATE_RATIO: rho <= limit,
            gates.GATE_IMPACT: rho * unfinished <= limit and unfinished <= rules.gate_bound,
        }[rules.gate]

    def would_insert(self) -> int:
        """Unfinished evaluations that would each enter the present list."""
        books, count = self.books, 0
        for nodes, _ in self.tasks.values():
            for node in nodes:
                entry = (books.compact[node], node)
                count += entry in sorted([*books.candidates, entry])[: books.list_size]
        return count

    def _slot_for(self, verification: bool) -> bool:
        reads, awaited = len(self.in_flight), self.awaited
        if self.rules.window_counts == q.WINDOW_OF_READS:
            return reads < self.window
        if awaited >= self.window:
            return False
        return reads - awaited < self.rules.verify_cap if verification else True

    def decide(self, most: int, handle_of: Callable[[int, int], int]) -> tuple[list, list[tuple[int, int]]]:
        """The next chain as (node, kind), and the new tasks as (number, neighbours).

        ``most`` is the longest chain; ``handle_of(node, kind)`` names a read as the completions will.
        """
        books, chain, tasks, kept = self.books, [], [], 0
        while len(chain) < most and kept < most and self._slot_for(False):
            node = books.next_untaken()
            if node is None:
                break
            self.decisions += 1
            if not self.gate_open():
                self.closed += 1
                break
            expansion = len(books.taken)
            books.taken.append(node)
            books.counts["expansions"] += 1
            self.backlogs.append(self.unfinished)
            self.open_at_admission.append(set(self.tasks))
            if node in books.has_adjacency:
                flying = [handle for handle, read in self.in_flight.items() if read[0] == node]
                if flying:
                    self.in_flight[flying[0]] = (node, q.READ_RECORD, expansion)
                else:
                    assert node in self.kept
                    added = self._take_list(node, expansion)
                    tasks += added
                    kept += bool(added)
                continue
            verified = node in books.has_vector
            self.merged += node in self.wanted and not verified
            self._post(chain, node, q.READ_ADJACENCY if verified else q.READ_RECORD, expansion, handle_of)
        kind = q.READ_RECORD if self.rules.full_record else q.READ_VECTOR
        while len(chain) < most and self._slot_for(True):
            node = books.next_to_verify()
            if node is None:
                break
            self._post(chain, node, kind, None, handle_of)
        books.chains += bool(chain)
        return chain, tasks

    def _post(self, chain, node, kind, expansion, handle_of) -> None:
        chain.append(self.books.ask(node, kind))
        self.in_flight[handle_of(node, kind)] = (node, kind, expansion)

    def receive(self, handles: list[int], tasks: list[int]) -> list[tuple[int, int]]:
        """Take in completions; the new tasks as (number, neighbours)."""
        new = []
        for handle in handles:
            node, kind, expansion = self.in_flight.pop(handle)
            if kind != q.READ_ADJACENCY:
                self.books.take_vector(node)
            if expansion is not None:
                new += self._take_list(node, expansion)
            elif kind == q.READ_RECORD:
                self.kept.add(node)
        for number in tasks:
            nodes, _ = self.tasks.pop(number)
            self.entered_by_task[number] = 0
            for node in nodes:
                before = {other for _, other in self.books.candidates}
                inside = self.books.insert(node)
                self.history.append(inside)
                self.entered_by_task[number] += inside
                if inside:
                    self._offer_to_verification(node, before)
        return new

    def _offer_to_verification(self, node: int, before: set[int]) -> None:
        """Note the node that entered the list, or the one that had to leave it."""
        books, rules = self.books, self.rules
        if rules.verify == q.VERIFY_EXPANDED:
            return
        oracle = rules.verify == q.VERIFY_ORACLE
        offered = {node}
        if rules.verify_evicted and not oracle:
            offered = before - {other for _, other in books.candidates}
        books.entered |= offered
        self.wanted |= {node for node in offered - books.has_vector if not oracle and books.passes(node)}

    def _take_list(self, node: int, expansion: int) -> list[tuple[int, int]]:
        fresh = self.books.unseen(node)
        self.generated += len(fresh)
        size = self.rules.chunk or max(1, len(fresh))
        new = []
        for first in range(0, len(fresh), size):
            piece = fresh[first : first + size]
            self.tasks[self.next_task] = (piece, expansion)
            new.append((self.next_task, len(piece)))
            self.next_task += 1
        return new

    def hidden_updates(self) -> list[int]:
        """Of each expansion: insertions by evaluations that were unfinished when it was admitted."""
        return [sum(self.entered_by_task[task] for task in tasks) for tasks in self.open_at_admission]

    def dropped(self) -> int:
        return len(self.wanted - self.books.has_vector)
