"""A system made of parts that riftsim has: Remote-Vamana that reads one record at a time."""

from dataclasses import replace

from riftsim.systems import remote_vamana
from riftsim.systems.context import System, SystemContext


def sequential(context: SystemContext, *, verification: str = "expansion-only") -> System:
    """Build the system.

    Parameters
    ----------
    context : SystemContext
        Data, index and settings of the run.
    verification : {"expansion-only", "verify-all"}
        Which nodes' exact vectors are read; an option of the experiment file.

    Returns
    -------
    System
        Its name labels the results and figures.
    """
    built = remote_vamana.build(context, beam_width=1, verification=verification)
    return replace(built, name="sequential")
