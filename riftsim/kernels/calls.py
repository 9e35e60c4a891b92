"""The transitions of a search as Python calls them: with handles instead of twenty arrays (see ``handles``)."""

from riftsim.kernels import eager, memory_side, pipelined, retry, rounds, speculative, traversal
from riftsim.kernels._jit import kernel
from riftsim.kernels.handles import index_of, state_of
from riftsim.kernels.query import READ_RECORD


@kernel
def begin(state, index, query, window):
    """``traversal.begin``."""
    traversal.begin(state_of(state), index_of(index), query, window)


@kernel
def next_round(state, index):
    """``rounds.next_round``."""
    return rounds.next_round(state_of(state), index_of(index))


@kernel
def take_in(state, index, query, tags, starts, count):
    """``rounds.take_in`` from the memory nodes' own regions."""
    at = index_of(index)
    return rounds.take_in(state_of(state), at, query, at.region, tags, starts, count)


@kernel(allocates=True)
def run_rounds(state, index, query):
    """``rounds.run_rounds``."""
    return rounds.run_rounds(state_of(state), index_of(index), query)


@kernel
def next_chain(state, index):
    """``eager.next_chain``."""
    return eager.next_chain(state_of(state), index_of(index))


@kernel
def receive(state, index, query, tags, starts, count):
    """``traversal.receive`` from the memory nodes' own regions."""
    at = index_of(index)
    return traversal.receive(state_of(state), at, query, at.region, tags, starts, count)


@kernel
def merge_tasks(state, index, query, tasks, count, evaluate):
    """``eager.merge_tasks``."""
    return eager.merge_tasks(state_of(state), index_of(index), query, tasks, count, evaluate)


@kernel
def count_dropped(state):
    """``eager.count_dropped``."""
    eager.count_dropped(state_of(state))


@kernel
def statuses(state, nodes, out):
    """``traversal.statuses``."""
    traversal.statuses(state_of(state), nodes, out)


@kernel
def retry_reads(state, index, tags, count):
    """``retry.retry_reads``."""
    return retry.retry_reads(state_of(state), index_of(index), tags, count)


@kernel
def pick(state):
    """``speculative.pick``."""
    return speculative.pick(state_of(state))


@kernel
def guess(state):
    """``speculative.guess``."""
    return speculative.guess(state_of(state))


@kernel
def adopt(state, tag):
    """``speculative.adopt``."""
    speculative.adopt(state_of(state), tag)


@kernel
def post_record(state, index, row, node, expansion):
    """``traversal.post`` of a whole record; ``expansion`` is -1 for one that no expansion awaits yet."""
    traversal.post(state_of(state), index_of(index), row, node, READ_RECORD, expansion)


@kernel
def advance(state, index, query):
    """``memory_side.advance``."""
    return memory_side.advance(state_of(state), index_of(index), query)


@kernel
def prune(state, index, query):
    """``memory_side.prune``."""
    return memory_side.prune(state_of(state), index_of(index), query)


@kernel
def seed(state, nodes, distances, width):
    """``pipelined.seed``."""
    pipelined.seed(state_of(state), nodes, distances, width)


@kernel
def rescore(state, index, query, posted):
    """``pipelined.rescore``."""
    return pipelined.rescore(state_of(state), index_of(index), query, posted)


@kernel
def issue(state, index, posted, most):
    """``pipelined.issue``."""
    return pipelined.issue(state_of(state), index_of(index), posted, most)


@kernel
def land(state, posted, starts, tags, places, count):
    """``pipelined.land``."""
    return pipelined.land(state_of(state), posted, starts, tags, places, count)


@kernel
def pick_arrived(state):
    """``pipelined.pick_arrived``."""
    return pipelined.pick_arrived(state_of(state))


@kernel
def outlook(state, posted):
    """``pipelined.outlook``."""
    return pipelined.outlook(state_of(state), posted)
