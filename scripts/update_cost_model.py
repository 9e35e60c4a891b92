"""Rewrite the tables of docs/cost_model.md that are made from the hardware profiles.

python scripts/update_cost_model.py
"""

import re
from pathlib import Path

from riftsim.files import atomic_write
from riftsim.rdma.description import constants_markdown
from riftsim.storage.description import ssd_constants_markdown
from riftsim.storage.profile import is_ssd_profile

PAGE = Path(__file__).parent.parent / "docs" / "cost_model.md"
_TABLE = re.compile(r"(<!-- constants: (?P<name>\S+?)(?: unlike (?P<unlike>\S+))? -->\n)(?:\|.*\n)*")


def updated(text: str) -> str:
    """Return the page with the tables as the profiles are now."""
    return _TABLE.sub(lambda found: found[1] + _table(found["name"], found["unlike"]), text)


def _table(name: str, unlike: str | None) -> str:
    return ssd_constants_markdown(name) if is_ssd_profile(name) else constants_markdown(name, unlike)


if __name__ == "__main__":
    page = updated(PAGE.read_text(encoding="utf-8"))
    with atomic_write(PAGE) as partial:
        partial.write_text(page, encoding="utf-8")
