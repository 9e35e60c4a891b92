"""Write the reference part of docs/configuration.md anew from the schema."""

from pathlib import Path

from riftsim.config.reference import reference_markdown
from riftsim.files import atomic_write

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
FIRST = "### Top level\n"

if __name__ == "__main__":
    written_by_hand = PAGE.read_text(encoding="utf-8").partition(FIRST)[0]
    with atomic_write(PAGE) as partial:
        partial.write_text(written_by_hand + reference_markdown(), encoding="utf-8")
