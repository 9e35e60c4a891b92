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


# ---------------------------------------------------------------- Little's law


LEAST_COMPLETED = 100
"""Completed queries per query in flight from which on throughput x latency is held against the configured number."""


def little_table(tables: Tables) -> str:
    lines = [
        "| set | completed per query in flight | configurations | beyond 1 % | largest deviation |",
        "|---|---|---|---|---|",
    ]
    every = [(name, row) for sets in tables.values() for name, rows in sets.items() for row in rows]
    loops = [(name, row) for name, row in every if row.get("little_error") is not None]
    for name, short in SHORT.items():
        for many, words in ((True, f"{LEAST_COMPLETED} or more"), (False, "fewer")):
            errors = [
                row["little_error"]
                for of, row in loops
                if of == name and (row["completed_per_query_in_flight"] >= LEAST_COMPLETED) == many
            ]
            if errors:
                beyond = sum(abs(error) > 0.01 for error in errors)
                lines.append(f"| {short} | {words} | {len(errors)} | {beyond} | {max(errors, key=abs):+.2%} |")
    return "\n".join(lines)


def fill(page: Path, tables: Tables) -> None:
    """Replace the tables of a page."""
    pages.fill(page, lambda name: little_table(tables) if name == "little" else claims_table(tables, CLAIMS[name]))
