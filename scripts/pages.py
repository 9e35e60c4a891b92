"""Pages of the docs whose tables are made from results: what stands between marks is replaced."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from riftsim.files import atomic_write

_MARKED = re.compile(r"<!-- table: (\w+) -->.*?<!-- end -->", re.DOTALL)


def fill(page: Path, content: Callable[[str], str]) -> None:
    """Replace what stands between ``<!-- table: NAME -->`` and ``<!-- end -->`` by ``content(NAME)``."""
    text = page.read_text(encoding="utf-8")
    text = _MARKED.sub(lambda found: f"<!-- table: {found[1]} -->\n{content(found[1])}\n<!-- end -->", text)
    with atomic_write(page) as partial:
        partial.write_text(text, encoding="utf-8")


def table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, or that it has no lines."""
    if not lines:
        return "not run"
    rows = [titles, ["---"] * len(titles), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
