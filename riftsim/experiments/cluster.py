"""Tasks on an existing Dask cluster: one that an administrator runs, or that dask-jobqueue starts on Slurm.

Scheduling, and what becomes of the tasks of a worker that dies, is Dask's affair: it gives them to another worker, and
gives a task up when several workers died of it (``distributed.scheduler.allowed-failures``). Results, data and cached
graphs are found by path, so workers need the same file system.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import riftsim
from riftsim.errors import ClusterError
from riftsim.experiments.pool import WorkerDied
from riftsim.kernels._jit import KERNEL_CACHE, cache_root
from riftsim.workload.locate import DATA_DIR_VARIABLE, data_dirs

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_TIMEOUT = "10s"


@contextmanager
def cluster(address: str, folder: Path) -> Iterator[Callable[..., Iterator[tuple[int, Any]]]]:
    """Connect to a cluster; give a function of the form of ``pool.run_tasks`` without its number of processes.

    Parameters
    ----------
    address : str
        Of the scheduler, e.g. ``tcp://host:8786``.
    folder : path
        Absolute; every worker must see it.

    Raises
    ------
    ClusterError
        There is no such cluster, or a worker could not give the same results.
    """
    try:
        from distributed import Client
        from distributed.comm import parse_address, parse_host_port
    except ImportError:
        raise ClusterError("--dask: the package distributed is missing; pip install 'riftsim[dask]'") from None
    try:
        protocol, place = parse_address(address)
        if protocol == "tcp":
            parse_host_port(place)  # a client of what is no address complains once more when the process ends
        client = Client(address, timeout=_CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"--dask {address}: no scheduler answers ({error}); expected tcp://HOST:PORT") from None
    with client:
        _require_equal_workers(client, folder)
        yield partial(_run_tasks, client)


def _run_tasks(client: "Client", function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    from distributed import as_completed

    places = {
        "RIFTSIM_CACHE_DIR": str(cache_root().absolute()),
        DATA_DIR_VARIABLE: os.pathsep.join(str(folder.absolute()) for folder in data_dirs()),
    }
    futures = [client.submit(_run_in, places, function, task, pure=False) for task in tasks]
    positions = {future.key: position for position, future in enumerate(futures)}
    try:
        for future in as_completed(futures, loop=client.loop):
            position = positions[future.key]
            if future.status == "finished":
                yield position, future.result()
            else:
                reason = future.exception() if future.status == "error" else "the scheduler has gone"
                yield position, WorkerDied(f"no worker of the cluster could run it: {reason}")
    finally:
        client.cancel(futures)


def _run_in(places: dict[str, str], function: Callable[[Any], Any], task: Any) -> Any:
    """Run a task on a worker, with data and cache where the one who submitted it has them."""
    os.environ.update({name: value for name, value in places.items() if value})
    return function(task)


def _about(folder: str) -> dict[str, Any]:
    return {
        "version of riftsim": riftsim.__version__,
        "version of the kernels": KERNEL_CACHE.name,
        f"folder {folder} is there": Path(folder).is_dir(),
    }


def _require_equal_workers(client: "Client", folder: Path) -> None:
    """Refuse workers with other code, without the results folder, or with several threads: a point takes a process."""
    try:
        found = client.run(_about, str(folder))
    except Exception as error:  # whatever a worker raises, importing riftsim above all
        raise ClusterError(f"--dask: a worker cannot run riftsim ({type(error).__name__}: {error})") from None
    expected = _about(str(folder))
    for worker, facts in found.items():
        for what, value in facts.items():
            if value != expected[what]:
                raise ClusterError(f"--dask: worker {worker}: {what}: found {value}, expected {expected[what]}")
    for worker, threads in client.nthreads().items():
        if threads != 1:
            raise ClusterError(
                f"--dask: worker {worker}: found {threads} threads, expected 1 (dask worker --nthreads 1)"
            )
