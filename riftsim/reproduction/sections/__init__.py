"""What is measured for each claim, a module per section of the paper; importing the package fills the table."""

from riftsim.reproduction.sections import (
    balancing,
    billion,
    breakdown,
    gate,
    motivation,
    other_systems,
    overall,
    pipeline,
    scalability,
)

__all__ = [
    "balancing",
    "billion",
    "breakdown",
    "gate",
    "motivation",
    "other_systems",
    "overall",
    "pipeline",
    "scalability",
]
