"""A slow model of the pipelined search in plain Python, written from the published loop: lists, sets and sorting."""

from collections import deque

from search_worlds import World


class PipelineModel:
    """One query; a turn at a time, told which nodes' reads have completed."""

    def __init__(self, world: World, query: int, *, list_size, k, start_width, max_width, marker, most_waste, entries):
        self.world, self.list_size, self.k = world, list_size, k
        self.max_width, self.marker, self.most_waste = max_width, marker, most_waste
        self.compact, self.exact = world.compact(query).tolist(), world.exact(query).tolist()
        self.hidden = set(world.hidden.nonzero()[0].tolist())
        self.width = start_width
        self.frontier = 0
        self.useful = self.finished = 0
        self.in_flight: deque[tuple[int, float]] = deque()
        self.completed: set[int] = set()
        self.landed: set[int] = set()
        self.asked: set[int] = set()
        self.worked_on: list[int] = []
        if entries is None:
            self.seen = {world.graph.start}
            self.pool = [(self.compact[world.graph.start], world.graph.start)]
        else:
            self.seen = {node for node, _ in entries}
            self.pool = sorted((distance, node) for node, distance in entries)[:list_size]
        self.first = [node for node in (self.ask() for _ in range(start_width)) if node is not None]

    def fill_table(self) -> None:
        """The entry points get compact distances, those whose reads are in flight included."""
        self.pool = sorted((self.compact[node], node) for _, node in self.pool)
        self.in_flight = deque((node, self.compact[node]) for node, _ in self.in_flight)

    def ask(self) -> int | None:
        found = next(((distance, node) for distance, node in self.pool if node not in self.asked), None)
        if found is None:
            return None
        self.asked.add(found[1])
        self.in_flight.append((found[1], found[0]))
        return found[1]

    @property
    def ended(self) -> bool:
        return all(node in self.worked_on for _, node in self.pool)

    def turn(self, completed: set[int]) -> list[int]:
        """Nodes whose reads are posted in this turn; nothing but waiting is left once the search has ended."""
        self.completed |= completed
        was_over = self.ended
        count = 0
        while self.in_flight and self.in_flight[0][0] in self.completed:
            node, distance = self.in_flight.popleft()
            self.landed.add(node)
            count += 1
            if self.frontier >= self.marker:
                self.finished += 1
                self.useful += distance <= self.pool[-1][0]
        if was_over:
            return []
        is_controlled = self.frontier >= self.marker and count
        if is_controlled and (self.finished - self.useful) / self.finished <= self.most_waste:
            self.width = min(self.max_width, self.width + 1)
        asked = self.ask() if len(self.in_flight) < self.width else None
        best = next((node for _, node in self.pool if node in self.landed and node not in self.worked_on), None)
        if best is not None:
            self.worked_on.append(best)
            for other in self.world.neighbors(best):
                if other not in self.seen:
                    self.seen.add(other)
                    self.pool = sorted([*self.pool, (self.compact[other], other)])[: self.list_size]
        unread = [at for at, (_, node) in enumerate(self.pool) if node not in self.asked]
        self.frontier = max(self.frontier, unread[0] if unread else len(self.pool))
        return [] if asked is None else [asked]

    def results(self) -> list[int]:
        shown = [node for node in self.worked_on if node not in self.hidden]
        ids = [node for _, node in sorted((self.exact[node], node) for node in shown)[: self.k]]
        return ids + [-1] * (self.k - len(ids))
