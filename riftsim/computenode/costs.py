"""What a core of the compute node takes for each kind of work.

All prices are integers in ps, made once from a hardware profile; the time of a step is a sum of products of counts
and prices. Contention for memory bandwidth is one factor, fixed when a piece of work starts: per mille of extra time
for each other main thread that is busy at that moment.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from riftsim.constants import SHORT_CODE_BYTES
from riftsim.errors import ConfigError
from riftsim.kernels import prices
from riftsim.rdma.profiles import CpuCosts
from riftsim.search.messages import Work
from riftsim.storage.profile import SsdProfile

# The Python engine calls the kernels' sources, the compiled engine the kernels.
_alone_ps = prices.alone_ps.py_func
_contended_ps = prices.contended_ps.py_func
_post_ps = prices.post_ps.py_func
_poll_ps = prices.poll_ps.py_func


@dataclass(frozen=True)
class CpuModel:
    """Prices of one run: a profile's constants, applied to the run's codes and vectors.

    Attributes
    ----------
    query_ps, table_entry_ps, list_ps, neighbor_ps, exact_ps, local_exact_ps, insertion_ps : int
        Price of a query's set-up, a table entry, an adjacency list, a neighbour's look-up, an exact distance of what
        was read and of what is in local memory, and an insertion into the candidate list.
    compact_ps : int
        A compact distance, by whoever computes it.
    offer_ps : int
        Offering a distance to the candidate list, on the main thread, whether it enters or is refused.
    hand_out_ps, hand_back_ps : int
        A task on its way to a worker, paid by the main thread, and its result on the way back, paid by the worker.
    build_wr_ps, doorbell_ps : int
        Price of a work request, and of ringing for a chain of them.
    poll_once_ps, cqe_ps : int
        Price of polling, and of each completion taken.
    contention_permille : int
        Extra time of evaluation work per other busy main thread.
    """

    query_ps: int
    table_entry_ps: int
    list_ps: int
    neighbor_ps: int
    compact_ps: int
    exact_ps: int
    local_exact_ps: int
    insertion_ps: int
    offer_ps: int
    hand_out_ps: int
    hand_back_ps: int
    control_ps: int
    """A controller's decision for one query."""
    build_wr_ps: int
    doorbell_ps: int
    poll_once_ps: int
    cqe_ps: int
    contention_permille: int

    @classmethod
    def of(cls, costs: CpuCosts, *, code_kind: str, code_bytes: int, vector_bytes: int) -> "CpuModel":
        """Price the work of a run.

        Parameters
        ----------
        costs : CpuCosts
            Of the hardware profile.
        code_kind : {"pq", "sq8", "full"}
            What compact codes are: each kind has prices of its own.
        code_bytes, vector_bytes : int
            Size of a compact code and of an exact vector.

        Raises
        ------
        ConfigError
            If the profile does not price this kind of codes, or codes of this size; names the key.
        """
        exact_ps = costs.exact_distance_base_ps + vector_bytes * costs.exact_distance_per_byte_ps
        return cls(
            query_ps=costs.query_setup_ps,
            table_entry_ps=costs.table_entry_ps,
            list_ps=costs.list_ps,
            neighbor_ps=costs.neighbor_ps,
            compact_ps=_compact_ps(costs, code_kind, code_bytes),
            exact_ps=exact_ps,
            local_exact_ps=exact_ps + costs.local_record_miss_ps,
            insertion_ps=costs.insertion_ps,
            offer_ps=costs.offer_ps,
            hand_out_ps=costs.handover_ps // 2,
            hand_back_ps=costs.handover_ps - costs.handover_ps // 2,
            control_ps=costs.control_ps,
            build_wr_ps=costs.build_wr_ps,
            doorbell_ps=costs.doorbell_ps,
            poll_once_ps=costs.poll_ps,
            cqe_ps=costs.cqe_ps,
            contention_permille=costs.per_thread_slowdown_permille,
        )

    def reading_from(self, drive: SsdProfile) -> "CpuModel":
        """The same where reads are submitted to an SSD and not posted to a NIC."""
        return replace(
            self,
            build_wr_ps=drive.submit_ps,
            doorbell_ps=drive.enter_ps,
            poll_once_ps=drive.poll_ps,
            cqe_ps=drive.reap_ps,
        )

    @cached_property
    def work_prices(self) -> tuple[int, ...]:
        """Price of one unit of each field of ``Work``, in their order."""
        return (
            self.query_ps,
            self.table_entry_ps,
            self.list_ps,
            self.neighbor_ps,
            self.compact_ps + self.offer_ps,
            self.exact_ps,
            self.local_exact_ps,
            self.insertion_ps,
            self.hand_out_ps,
            self.offer_ps,
        )

    def work_ps(self, work: Work, busy_cores: int) -> int:
        """Time of a piece of work that starts while ``busy_cores`` cores, this one included, are busy."""
        return self.contended_ps(_alone_ps(work, self.work_prices), busy_cores)

    def contended_ps(self, alone_ps: int, busy_cores: int) -> int:
        """Time of what takes ``alone_ps`` on an idle node, started while so many cores are busy, this one included."""
        return _contended_ps(alone_ps, self.contention_permille, busy_cores)

    def evaluate_ps(self, neighbors: int, busy_cores: int) -> int:
        """Time to compute that many compact distances."""
        return self.contended_ps(neighbors * self.compact_ps, busy_cores)

    def task_ps(self, neighbors: int, busy_cores: int) -> int:
        """Time that a worker takes for a task, from taking it to reporting it."""
        return self.hand_back_ps + self.evaluate_ps(neighbors, busy_cores)

    def post_ps(self, requests: int) -> int:
        """Time to build a chain of work requests and ring for it."""
        return _post_ps(requests, self.build_wr_ps, self.doorbell_ps)

    @property
    def handling_ps(self) -> int:
        """Time of a memory node's thread for a call beside its work: to poll for it, and to post the reply."""
        return self.poll_ps(1) + self.post_ps(1)

    def poll_ps(self, seen: int) -> int:
        """Time to poll a completion queue once and take what it held."""
        return _poll_ps(seen, self.poll_once_ps, self.cqe_ps)


_PRICED_AS = {"pq": "compact", "sq8": "sq8", "full": "full"}
"""How the keys of a profile begin that price a kind of codes."""


def _compact_ps(costs: CpuCosts, code_kind: str, code_bytes: int) -> int:
    """Price of a compact distance: a table look-up or some arithmetic per byte, and the cache lines that miss."""

    def price_ps(quantity: str) -> int:
        key = f"{_PRICED_AS[code_kind]}_{quantity}"
        found = getattr(costs, f"{key}_ps")
        if found is None:
            raise ConfigError(
                f"cpu.{key}_ns: missing, expected the price of {code_kind} codes of {code_bytes} bytes (`riftsim "
                "calibrate` measures it; connectx5-100g has it)"
            )
        return found

    longer_bytes = max(0, code_bytes - SHORT_CODE_BYTES[code_kind])
    miss_ps = price_ps("miss") + (longer_bytes * price_ps("miss_per_byte") if longer_bytes else 0)
    return price_ps("distance_base") + code_bytes * price_ps("distance_per_byte") + miss_ps
