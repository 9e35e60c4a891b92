"""The table of metrics as a page of the docs; ``python -m riftsim.results.metrics_page docs/metrics.md`` renews it."""

import sys
from pathlib import Path

from riftsim.files import atomic_write
from riftsim.results.metrics import METRICS

BEGIN = "<!-- metrics: made from riftsim/results/metrics.py -->"
END = "<!-- end of metrics -->"

_DIRECTION = {"higher": "higher is better", "lower": "lower is better", "-": "-"}


def table() -> str:
    """Return the table of all metrics in Markdown."""
    lines = ["| name | what | symbol | unit | direction | formula |", "|---|---|---|---|---|---|"]
    for metric in METRICS.values():
        cells = [
            f"`{metric.name}`",
            metric.label.format(k="k"),
            metric.symbol,
            metric.unit,
            _DIRECTION[metric.better],
            metric.formula,
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """Return ``page`` with the table between its two marks made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks the marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main(path: str) -> None:
    """Renew the table in a file."""
    page = Path(path).read_text(encoding="utf-8")
    with atomic_write(path) as partial:
        partial.write_text(renewed(page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
