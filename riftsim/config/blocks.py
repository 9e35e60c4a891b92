"""What all blocks of an experiment file are made of."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(gt=0)]
NonNegative = Annotated[int, Meta(ge=0)]
Metric = Literal["l2", "ip", "cosine"]


class Block(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Base of all blocks."""


class PluginConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="plugin"):
    """A policy or system from another package, found by its entry-point name."""

    name: str
    """Entry-point name, without the ``system:`` before it."""
    options: dict[str, Any] = {}
    """Passed to the plug-in as keyword arguments."""
