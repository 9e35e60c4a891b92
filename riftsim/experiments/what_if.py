"""A run repeated with one resource taking no time: what would really become of its latencies, and of its recall."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from riftsim.artifacts import ArtifactStore
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.sim import SimulatedCluster
from riftsim.config.schema import ExperimentConfig
from riftsim.config.systems import Ungated
from riftsim.results import critical_path as path
from riftsim.results.recorder import PointResult

_PLENTY = 256  # of cores and workers, beyond what is configured
_UNLIMITED_READS = 1 << 15


@dataclass(frozen=True)
class _SplitPrices(CpuModel):
    """Prices of work that differ between a main thread and the workers."""

    main_prices: tuple[int, ...] = ()

    @property
    def work_prices(self) -> tuple[int, ...]:
        """Price of one unit of each field of ``Work`` on a main thread."""
        return self.main_prices


def _cpu(**prices: int) -> Callable[[SimulatedCluster], SimulatedCluster]:
    return lambda cluster: replace(cluster, cpu=replace(cluster.cpu, **prices))


def _network(**costs: int) -> Callable[[SimulatedCluster], SimulatedCluster]:
    def change(cluster: SimulatedCluster) -> SimulatedCluster:
        network = replace(cluster.profile.network, **costs)
        return replace(cluster, profile=replace(cluster.profile, network=network))

    return change


def _split(cpu: CpuModel, main_prices: tuple[int, ...], **prices: int) -> CpuModel:
    fields = {name: getattr(cpu, name) for name in CpuModel.__dataclass_fields__}
    return _SplitPrices(**{**fields, **prices}, main_prices=main_prices)


def _free_main(cluster: SimulatedCluster) -> SimulatedCluster:
    return replace(cluster, cpu=_split(cluster.cpu, (0,) * len(cluster.cpu.work_prices)))


def _free_workers(cluster: SimulatedCluster) -> SimulatedCluster:
    return replace(cluster, cpu=_split(cluster.cpu, cluster.cpu.work_prices, compact_ps=0, hand_back_ps=0))


def _more_cores(cluster: SimulatedCluster) -> SimulatedCluster:
    budget = cluster.budget
    return replace(cluster, budget=replace(budget, threads=budget.threads + _PLENTY))


def _more_workers(cluster: SimulatedCluster) -> SimulatedCluster:
    budget = cluster.budget
    return replace(cluster, budget=replace(budget, threads=budget.threads + _PLENTY, workers=budget.workers + _PLENTY))


_CHANGES: dict[str, Callable[[SimulatedCluster], SimulatedCluster]] = {
    path.ADMISSION: _more_cores,
    path.COMPUTE: _free_main,
    path.POSTING: _cpu(build_wr_ps=0, doorbell_ps=0),
    path.POLLING: _cpu(poll_once_ps=0, cqe_ps=0),
    path.CONTROLLER: _cpu(control_ps=0),
    path.CORE: _more_cores,
    path.QUEUE_PAIR: _network(max_outstanding=_UNLIMITED_READS),
    path.NIC: _network(qp_service_ps=0, wr_service_ps=0, wr_miss_ps=0),
    path.PCIE: _network(doorbell_ps=0, wqe_fetch_ps=0, pcie_read_ps=0, pcie_write_ps=0, pcie_ps_per_kib=0),
    # One picosecond per request is left: requests that share a link keep their order by it.
    path.WIRE: _network(transit_ps=0, link_ps_per_kib=0, request_wire_ps=1),
    path.MEMORY_NODE: _network(responder_service_ps=0),
    path.WORKER_QUEUE: _more_workers,
    path.TASKS: _free_workers,
}


def run_with_free(
    config: ExperimentConfig,
    resource: str,
    *,
    data_dir: str | Path | None = None,
    artifacts: ArtifactStore | None = None,
) -> PointResult:
    """Run a configuration with one resource free: prices at zero, plenty of cores or workers, or the gate open.

    Parameters
    ----------
    config : ExperimentConfig
        Of one point.
    resource : str
        Of ``critical_path.RESOURCES``, or ``GATE`` for a system that has one.

    Returns
    -------
    PointResult
    """
    from riftsim.assembly import run_point

    if resource == path.GATE:
        system = msgspec.structs.replace(config.system, gate=Ungated())
        return run_point(msgspec.structs.replace(config, system=system), data_dir=data_dir, artifacts=artifacts)
    return run_point(config, data_dir=data_dir, artifacts=artifacts, alter=_CHANGES[resource])
