"""A round-synchronous search whose evaluations reach the candidate list one round late (RiftANN, section 2.4)."""

from collections.abc import Callable

from riftsim.kernels import query as q
from riftsim.search.messages import Answer
from riftsim.search.rounds import RoundSearch


class DelayedSearch(RoundSearch):
    """Each completed evaluation is held back for one round, in which the search selects without it.

    Parameters
    ----------
    *arguments, **settings
        As for ``RoundSearch``.
    merge_rest : bool
        Whether what is held back when no round is left is merged, so that it can be verified, or dropped.
    count_empty : bool
        Whether a round in which all that could be expanded is held back counts against the limit.
    round_limit : callable or None
        ``round_limit(query_index) -> int``: most rounds; None ends only when nothing is left to expand.
    """

    def __init__(
        self,
        *arguments,
        merge_rest: bool = False,
        count_empty: bool = False,
        round_limit: Callable[[int], int] | None = None,
        **settings,
    ):
        hold = q.HOLD_THEN_MERGE if merge_rest else q.HOLD_THEN_DROP
        super().__init__(*arguments, **settings, more_rules={q.RULE_HOLD: hold, q.RULE_COUNT_EMPTY: int(count_empty)})
        self._round_limit = round_limit

    def answer(self) -> Answer:
        """Return the results of the search."""
        answer = super().answer()
        answer.counts["empty_rounds"] = int(self._state.numbers[q.EMPTY_ROUNDS])
        return answer

    def _begin(self, query_index: int) -> None:
        super()._begin(query_index)
        if self._round_limit:
            self._state.numbers[q.ROUND_LIMIT] = self._round_limit(query_index)
