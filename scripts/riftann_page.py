"""Fill the tables of docs/results/riftann.md from results/published/riftann/tables.json, between their markers."""

from collections.abc import Callable
from pathlib import Path

import pages
from riftann_cells import NotRun, Rows
from riftann_claims import CLAIMS, Claim, Texts

Tables = dict[str, dict[str, Rows]]
SHORT = {
    "sift-photos-100k": "SIFT",
    "sift-photos-1m": "SIFT 1M",
    "deep-photos-100k": "DEEP",
    "text-wordnet-100k": "TEXT",
}
NOT_RUN = "not run"


def claims_table(tables: Tables, claims: list[Claim]) -> str:
    sets = [name for name in SHORT if any(name in tables.get(block, {}) for _, _, _, block, _ in claims)]
    lines = []
    for claim, what, paper, block, value in claims:
        named = _lines(what)
        columns = [_values(tables.get(block, {}).get(name), value, len(named)) for name in sets]
        if any(column[0] != NOT_RUN for column in columns):
            papers = _lines(paper) + ("",) * (len(named) - len(_lines(paper)))
            lines += zip((claim,) * len(named), named, papers, *columns, strict=True)
    return pages.table(["claim", "what", "paper", *(SHORT[name] for name in sets)], lines).replace("-0.0000", "0.0000")


def _lines(texts: Texts) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts


def _values(rows: Rows | None, value: Callable[[Rows], Texts], lines: int) -> tuple[str, ...]:
    try:
        return _lines(value(rows)) if rows else (NOT_RUN,) * lines
    except NotRun:
        return (NOT_RUN,) * lines


def fill(page: Path, tables: Tables) -> None:
    """Replace the tables of a page."""
    pages.fill(page, lambda name: claims_table(tables, CLAIMS[name]))
