"""What a tested cause changes against what is compared, for docs/results/systems.md."""

from dataclasses import dataclass, field
from typing import Any

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.variants import base_profile, scaled, with_values, write


@dataclass(frozen=True)
class Change:
    """One change; tables with more to say of one extend it.

    Attributes
    ----------
    what : str
    settings : dict
        By dotted key with two underscores for a dot.
    constants : dict
        Of the hardware profile, by dotted path.
    factors : dict
        Of groups of its constants, by `variants.GROUPS`.
    """

    what: str
    settings: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)

    def hardware(self, lab: Lab) -> dict[str, str]:
        """Return the setting that chooses the changed profile, which is written beside the lab's runs if it is new."""
        if not (self.constants or self.factors):
            return {}
        profile = scaled(with_values(base_profile(lab.hardware), self.constants), self.factors)
        return {"hardware": str(write(profile, lab.out / "profiles"))}
