"""Results as one HTML file that needs nothing else: scoreboard, figures, runs, configuration and provenance."""

from riftsim.report.page import write_report

__all__ = ["write_report"]
