"""The claims of a paper, read strictly from the YAML file in which they stand as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from riftsim import yaml_file
from riftsim.errors import ConfigError

BUNDLED = Path(__file__).resolve().parent / "claims"
"""Folder of the claims that come with riftsim, a file per paper."""

Role = Literal["calibrate", "predict", "selects"]
_UNITS = ("us", "ms", "kqps", "qps", "reads", "kib", "recall", "gb", "x", "queries", "workers", "evaluations")


class _Written(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A claim as it stands in the file; the file's header says what the keys mean."""

    id: str
    where: str
    what: str
    kind: Literal["absolute", "ratio", "order", "share"]
    role: Role
    unit: str | list[str] | None = None
    value: Any = None
    form: Literal["one", "range", "tuple"] = "one"
    match: Literal["recall", "work", "data"] | None = None
    parts: list[str] = []
    units: list[str] = []
    reference: float | None = None
    miss_rate: bool = False
    of_data: bool = False
    counted_with: list[str] = []
    approximate: bool = False
    reading: str = ""


@dataclass(frozen=True)
class Target:
    """One number of a claim, what ours is held against.

    Attributes
    ----------
    name : str
        Of the part, empty if the claim has only one.
    unit : str
    low, high : float
        The claim holds in between; equal if it states a number. A bound has ``-inf`` below.
    strict : bool
        Whether a bound itself is outside.
    reference : float or None
        Recall of the reference policy: what is compared is the difference from it.
    """

    name: str
    unit: str
    low: float
    high: float
    strict: bool = False
    reference: float | None = None

    @property
    def is_bound(self) -> bool:
        """Whether only an upper bound is stated."""
        return self.low == float("-inf")

    @property
    def is_number(self) -> bool:
        """Whether a single number is stated."""
        return self.low == self.high

    @property
    def is_reference(self) -> bool:
        """Whether the number is that of the reference policy itself, with which nothing is compared."""
        return self.reference is not None and self.is_number and self.low == 0.0

    def text(self) -> str:
        """Write the number as the paper has it; recalls with their reference as differences."""
        if self.is_bound:
            return f"{'<' if self.strict else '<='}{self.high:g}"
        sign = "+" if self.reference is not None else ""
        return f"{self.low:{sign}.4g}" if self.is_number else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes
    ----------
    id, section, where, what, kind, role
        As in the file; ``section`` is the heading under which it stands.
    match : {"recall", "work", "data"}
    targets : tuple of Target
        Its numbers; none for an order.
    miss_rate : bool
        Compared as ``1 - value``.
    of_data : bool
        A property of the vectors, comparable on the paper's data only.
    counted_with : tuple of str
        Claims that hold the same number, or those that it follows from, and count in its place.
    approximate : bool
    reading : str
    """

    id: str
    section: str
    where: str
    what: str
    kind: Literal["absolute", "ratio", "order", "share"]
    role: Role
    match: Literal["recall", "work", "data"]
    targets: tuple[Target, ...] = ()
    miss_rate: bool = False
    of_data: bool = False
    counted_with: tuple[str, ...] = ()
    approximate: bool = False
    reading: str = ""

    @property
    def counts(self) -> bool:
        """Whether its verdict is counted (apart from predictions, if it may calibrate)."""
        return self.role != "selects" and not self.counted_with


def load_claims(source: str | Path = "riftann") -> list[Claim]:
    """Read the claims of a paper.

    Parameters
    ----------
    source : str or path-like
        Name of a bundled file, or the path of one.

    Returns
    -------
    list of Claim
        In the order of the file.

    Raises
    ------
    ConfigError
        No such file, an unknown key, an id twice, or a value that does not fit its form; names file and line.
    """
    bundled = BUNDLED / f"{source}.yaml"
    path = bundled if bundled.is_file() else Path(source)
    content, lines = yaml_file.read(path)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: found {type(content).__name__}, expected a mapping of sections to lists of claims")
    claims: dict[str, Claim] = {}
    for section, entries in content.items():
        if not isinstance(entries, list):
            raise ConfigError(f"{path}: $.{section}: found {type(entries).__name__}, expected a list of claims")
        for position, entry in enumerate(entries):
            where = f"{path}:{lines[section, position]}: $.{section}[{position}]"
            claim = _claim(entry, section, where)
            if claim.id in claims:
                raise ConfigError(f"{where}: found id {claim.id!r} twice, expected each once")
            claims[claim.id] = claim
    for claim in claims.values():
        missing = [other for other in claim.counted_with if other not in claims]
        if missing:
            raise ConfigError(f"{path}: {claim.id}: counted with {missing[0]!r}, expected the id of a claim")
    return list(claims.values())


def _claim(entry: Any, section: str, where: str) -> Claim:
    try:
        written = msgspec.convert(entry, _Written)
    except msgspec.ValidationError as error:
        name = entry.get("id", "?") if isinstance(entry, dict) else "?"
        raise ConfigError(f"{where} ({name}): {error}") from None
    try:
        targets = _targets(written)
    except ValueError as error:
        raise ConfigError(f"{where} ({written.id}): {error}") from None
    return Claim(
        id=written.id,
        section=section,
        where=written.where,
        what=written.what,
        kind=written.kind,
        role=written.role,
        match=written.match or "recall",
        targets=targets,
        miss_rate=written.miss_rate,
        of_data=written.of_data,
        counted_with=tuple(written.counted_with),
        approximate=written.approximate,
        reading=written.reading,
    )


def _targets(written: _Written) -> tuple[Target, ...]:
    if written.kind == "order":
        if written.value is not None:
            raise ValueError(f"value: found {written.value!r}, expected none: an order has no number")
        return ()
    values = _values(written)
    names = written.parts if written.form == "tuple" else [""]
    if len(values) != len(names):
        raise ValueError(f"value: found {len(values)} number(s) for {len(names)} part(s), expected one for each")
    units = _part_units(written, len(values))
    return tuple(_target(name, unit, value, written) for name, unit, value in zip(names, units, values, strict=True))


def _values(written: _Written) -> list[Any]:
    value, form = written.value, written.form
    if form == "one":
        if isinstance(value, list):
            raise ValueError(f"value: found the list {value}, expected a number or bound; `form` says what a list is")
        return [value]
    if not isinstance(value, list):
        raise ValueError(f"value: found {value!r}, expected a list for the form {form!r}")
    if form == "tuple":
        return _flat(value)
    if len(value) != 2 or not value[0] <= value[1]:
        raise ValueError(f"value: found {value!r}, expected a range [low, high]")
    return [value]


def _part_units(written: _Written, count: int) -> list[str]:
    repeated = written.unit if isinstance(written.unit, list) else [written.unit] * count
    units = written.units or repeated
    unknown = [unit for unit in units if unit not in _UNITS]
    if unknown or len(units) != count:
        raise ValueError(f"unit: found {units}, expected one of {', '.join(_UNITS)} for each of {count} part(s)")
    return units


def _target(name: str, unit: str, value: Any, written: _Written) -> Target:
    if isinstance(value, str):
        strict = not value.startswith("<=")
        number = value.lstrip("<=")
        if not value.startswith("<"):
            raise ValueError(f"value: found {value!r}, expected a number, '<=x' or '<x'")
        return Target(name, unit, float("-inf"), float(number), strict)
    low, high = map(float, value if isinstance(value, list) else (value, value))
    if written.miss_rate:
        low, high = 1 - high, 1 - low
    reference = written.reference if unit == "recall" else None
    if reference is not None:
        low, high = low - reference, high - reference
    return Target(name, unit, round(low, 9), round(high, 9), reference=reference)


def _flat(values: Sequence[Any]) -> list[Any]:
    return [inner for value in values for inner in (_flat(value) if isinstance(value, list) else [value])]
