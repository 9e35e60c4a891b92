"""Claims that nothing measures yet, with the reason; a measure elsewhere takes the place of a line here."""

from collections.abc import Callable

from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.measuring import MEASURES, measures
from riftsim.reproduction.scoring import Value

REASONS = {
    **dict.fromkeys(("B02", "B03", "B09", "B10", "B11", "B12"), "baselines are not part of the scale study"),
}


def _absent(reason: str) -> Callable[[Lab], list[Value]]:
    def function(lab: Lab) -> list[Value]:
        raise NotMeasured(reason)

    return function


for _claim, _reason in REASONS.items():
    if _claim not in MEASURES:
        measures(_claim)(_absent(_reason))
