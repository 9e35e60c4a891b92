"""What systems have in common whose records lie on a local SSD."""

from collections.abc import Callable

from riftsim.index.sectors import SectorLayout
from riftsim.search.messages import Program
from riftsim.search.sectors import SectorSearch
from riftsim.storage.profile import load_ssd_profile
from riftsim.systems.context import System, SystemContext


def disk_system(
    name: str,
    context: SystemContext,
    new_search: Callable[[], Program],
    *,
    drive: str,
    buffers: int,
    search_bytes: int,
    memory_items: dict[str, int],
    facts: dict,
) -> System:
    """Put a search of whole records onto an SSD.

    Parameters
    ----------
    name : str
    context : SystemContext
    new_search : callable
        Makes a search that reads whole records.
    drive : str
        Name or path of an SSD profile.
    buffers : int
        Records' worth of sector buffers that each query in flight has.
    search_bytes : int
        Per-query state of the search.
    memory_items, facts : dict
        As in ``System``.
    """
    remote = context.remote
    layout = SectorLayout(remote.vector_bytes + 4 + 4 * remote.degree)
    profile = load_ssd_profile(drive)
    return System(
        name,
        lambda: SectorSearch(new_search(), layout, len(context.vectors), context.vectors.dtype, remote.vector_bytes),
        state_bytes=search_bytes + buffers * layout.span_bytes,
        memory_items=memory_items,
        cluster_changes={"drive": profile},
        facts={
            "drive": profile.name,
            "records_per_sector": layout.per_sector,
            "file_bytes": layout.file_bytes(len(context.vectors)),
            **facts,
        },
    )
