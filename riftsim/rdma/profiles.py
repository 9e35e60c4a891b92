"""Hardware profiles: YAML files in which every constant bears its source, converted once to integer picoseconds."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path

import msgspec

from riftsim import yaml_file
from riftsim.constants import (
    Constant,
    check_constant,
    constant_ps,
    profile_names,
    profile_path,
    ps_per_kib,
    require_within,
)
from riftsim.errors import ConfigError
from riftsim.rdma.unloaded import unloaded_read_ps
from riftsim.units import PS_PER_NS

SECTIONS = ("link", "nic", "pcie", "cpu")
_FOLDER = resources.files("riftsim") / "configs" / "hardware"


class LinkSection(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The wire between a node and the switch."""

    rate_gbps: Constant
    """Bits per second in either direction; 0 means that serialisation takes no time."""
    mtu_bytes: Constant
    """Most payload bytes of a packet."""
    request_bytes: Constant
    """A READ request on the wire, all headers and gaps included."""
    response_header_bytes: Constant
    """Headers and gaps of every response packet."""
    propagation_ns: Constant
    """One way, cables and switch."""


class NicSection(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Processing in the NICs."""

    qp_service_ns: Constant
    """Per READ and queue pair at the requester: the inverse of the rate of one queue pair."""
    wr_service_ns: Constant
    """Per READ at the requester, all queue pairs together."""
    wr_miss_ns: Constant
    """More per READ whose context is not on chip."""
    cached_requests_count: Constant
    """Outstanding READs whose contexts fit on chip."""
    max_outstanding_count: Constant
    """READs that one queue pair may have on the wire (max_rd_atomic)."""
    responder_service_ns: Constant
    """Per request at the responder."""
    transit_ns: Constant
    """Pipelines of the sending and the receiving NIC, one way, without queueing."""
    remainder_ns: Constant
    """What the stages leave unexplained of the unloaded latency; added to every READ."""
    tail_p99_permille: Constant
    """Excess of the 99th percentile of the unloaded latency over its median (used with ``tails: true`` only)."""
    tail_p999_permille: Constant
    """The same for the 99.9th percentile."""


class PcieSection(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Between a NIC and its host's memory; the same at both ends."""

    rate_gbps: Constant
    """After line code and link-layer packets; 0 means that transfers take no time."""
    payload_bytes: Constant
    """Most payload bytes of a transaction-layer packet."""
    header_bytes: Constant
    """Header and framing of a transaction-layer packet."""
    write_ns: Constant
    """Latency of a posted write in either direction: doorbell, data to memory."""
    read_ns: Constant
    """Latency of a read of host memory by the NIC, request and completion."""
    wqe_fetch_ns: Constant
    """More for a chain of several work requests, which the NIC reads from host memory after the doorbell."""


class CpuSection(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Work of a core of the compute node; see ``docs/cost_model.md`` for what each constant is charged for."""

    clock_ghz: Constant
    build_wr_ns: Constant
    doorbell_ns: Constant
    poll_ns: Constant
    cqe_ns: Constant
    query_setup_ns: Constant
    table_entry_ns: Constant
    compact_distance_base_ns: Constant
    compact_distance_per_byte_ns: Constant
    compact_miss_ns: Constant
    compact_miss_per_byte_ns: Constant | None = None
    """What a profile does not state of codes, runs on such codes ask for (``computenode.costs``)."""
    sq8_distance_base_ns: Constant | None = None
    sq8_distance_per_byte_ns: Constant | None = None
    sq8_miss_ns: Constant | None = None
    sq8_miss_per_byte_ns: Constant | None = None
    full_distance_base_ns: Constant | None = None
    full_distance_per_byte_ns: Constant | None = None
    full_miss_ns: Constant | None = None
    full_miss_per_byte_ns: Constant | None = None
    exact_distance_base_ns: Constant
    exact_distance_per_byte_ns: Constant
    local_record_miss_ns: Constant
    insertion_ns: Constant
    list_ns: Constant
    neighbor_ns: Constant
    handover_ns: Constant
    offer_ns: Constant
    control_ns: Constant
    per_thread_slowdown_permille: Constant


class Measurement(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A quantity that constants of a calibrated profile come from, with its spread."""

    what: str
    unit: str
    median: float
    p5: float
    p95: float
    samples: int


class ProfileFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A profile as it stands in the file."""

    name: str
    description: str
    tails: bool = False
    """Add a random excess to the latency of every READ (``tail_*``)."""
    nic_shares_core: bool = False
    """NICs, polling and evaluation workers of a node share one core, as SoftRoCE does on a machine with one CPU."""
    measured_on: dict[str, str] = {}
    """Of a calibrated profile: machine, kernel, device, versions, date."""
    measurements: list[Measurement] = []
    """Of a calibrated profile: what was measured; the model reads the constants below only."""
    link: LinkSection
    nic: NicSection
    pcie: PcieSection
    cpu: CpuSection


@dataclass(frozen=True, slots=True)
class NetworkCosts:
    """The network's constants as integers: picoseconds, bytes, picoseconds per KiB."""

    link_ps_per_kib: int
    mtu_bytes: int
    response_header_bytes: int
    request_wire_ps: int
    transit_ps: int
    """One way: propagation and both NICs' pipelines."""
    qp_service_ps: int
    wr_service_ps: int
    wr_miss_ps: int
    cached_requests: int
    max_outstanding: int
    responder_service_ps: int
    pcie_ps_per_kib: int
    pcie_payload_bytes: int
    pcie_header_bytes: int
    doorbell_ps: int
    wqe_fetch_ps: int
    pcie_read_ps: int
    pcie_write_ps: int
    """Write of the data and the CQE, with the unexplained remainder of the round trip."""
    receive_ps: int
    """Write of a message into a receive buffer: half of a round trip, without the remainder."""
    tails: bool
    typical_ps: int
    """Unloaded latency of an 8-byte read: what the tail is a multiple of."""
    p99_permille: int
    p999_permille: int
    is_free: bool
    """Nothing takes time: reads complete in the next delta round."""


@dataclass(frozen=True, slots=True)
class CpuCosts:
    """Work of a core in integer picoseconds, at the profile's clock."""

    build_wr_ps: int
    doorbell_ps: int
    poll_ps: int
    cqe_ps: int
    query_setup_ps: int
    table_entry_ps: int
    compact_distance_base_ps: int
    compact_distance_per_byte_ps: int
    compact_miss_ps: int
    compact_miss_per_byte_ps: int | None
    sq8_distance_base_ps: int | None
    sq8_distance_per_byte_ps: int | None
    sq8_miss_ps: int | None
    sq8_miss_per_byte_ps: int | None
    full_distance_base_ps: int | None
    full_distance_per_byte_ps: int | None
    full_miss_ps: int | None
    full_miss_per_byte_ps: int | None
    exact_distance_base_ps: int
    exact_distance_per_byte_ps: int
    local_record_miss_ps: int
    insertion_ps: int
    list_ps: int
    neighbor_ps: int
    handover_ps: int
    offer_ps: int
    control_ps: int
    per_thread_slowdown_permille: int
    """Every further busy thread of the node makes memory-bound work this much slower."""


@dataclass(frozen=True, slots=True)
class HardwareProfile:
    """A loaded profile.

    Attributes
    ----------
    name : str
    file : ProfileFile
        What was read, sources included.
    network : NetworkCosts
    cpu : CpuCosts
    """

    name: str
    file: ProfileFile
    network: NetworkCosts
    cpu: CpuCosts

    def constants(self) -> Iterator[tuple[str, str, Constant]]:
        """Yield section, key and constant in the order of the schema, those that the file states."""
        for section in SECTIONS:
            block = getattr(self.file, section)
            for key in block.__struct_fields__:
                if (constant := getattr(block, key)) is not None:
                    yield section, key, constant


def list_profiles() -> list[str]:
    """Return the names of the profiles that come with riftsim."""
    return profile_names(_FOLDER)


def load_profile(name_or_path: str | Path) -> HardwareProfile:
    """Read and check a profile and convert it to integers.

    Parameters
    ----------
    name_or_path : str or path-like
        The name of a profile that comes with riftsim, or the path of a YAML file.

    Returns
    -------
    HardwareProfile

    Raises
    ------
    ConfigError
        If there is no such profile, or a constant is missing, unknown, negative or of the wrong unit; names file and
        key.
    """
    entry = profile_path(_FOLDER, name_or_path, "hardware")
    content, _ = yaml_file.read(entry)
    try:
        return make_profile(msgspec.convert(content, ProfileFile))
    except (msgspec.ValidationError, ConfigError) as error:
        raise ConfigError(f"{entry}: {error}") from error


def make_profile(file: ProfileFile) -> HardwareProfile:
    """Check a profile's constants and convert them.

    Raises
    ------
    ConfigError
        As ``load_profile``; names the key.
    """
    for section in SECTIONS:
        block = getattr(file, section)
        for key in block.__struct_fields__:
            if (constant := getattr(block, key)) is not None:
                check_constant(f"{section}.{key}", constant, of_cpu=section == "cpu")
    clock = file.cpu.clock_ghz.value
    cpu = CpuCosts(**{field.name: _cpu_cost(file.cpu, field.name, clock) for field in fields(CpuCosts)})
    network = _network_costs(file)
    if file.nic_shares_core:
        network, cpu = _on_one_core(network, cpu)
    return HardwareProfile(name=file.name, file=file, network=network, cpu=cpu)


def _on_one_core(network: NetworkCosts, cpu: CpuCosts) -> tuple[NetworkCosts, CpuCosts]:
    """Charge the stages of a read to the core that posts it; the network itself then takes no time.

    A processor that is its own NIC sends, answers and receives while the thread that posted stands still: by the time
    that it goes on, the reads have completed.
    """
    if network.link_ps_per_kib or network.pcie_ps_per_kib:
        raise ConfigError(
            "nic_shares_core: found a rate of link or PCIe, expected link.rate_gbps and pcie.rate_gbps of 0: what a "
            "core does for a read is qp_service_ns"
        )
    per_read_ps = network.qp_service_ps + network.wr_service_ps + network.responder_service_ps
    per_chain_ps = network.doorbell_ps + 2 * network.transit_ps + network.pcie_read_ps + network.pcie_write_ps
    times = [field.name for field in fields(NetworkCosts) if field.name.endswith(("_ps", "_per_kib"))]
    return (
        replace(network, **dict.fromkeys(times, 0), tails=False, is_free=True),
        replace(cpu, build_wr_ps=cpu.build_wr_ps + per_read_ps, doorbell_ps=cpu.doorbell_ps + per_chain_ps),
    )


def _cpu_cost(cpu: CpuSection, name: str, clock_ghz: float) -> int | None:
    if name.endswith("_permille"):
        return int(getattr(cpu, name).value)
    key = name.removesuffix("_ps") + "_ns"
    constant: Constant | None = getattr(cpu, key)
    if constant is None:
        return None
    scale = 1.0 if constant.measured_ghz is None else constant.measured_ghz / clock_ghz
    require_within(f"cpu.{key} at {clock_ghz:g} GHz", constant.value * scale, "ns")
    return round(constant.value * scale * PS_PER_NS)


def _network_costs(file: ProfileFile) -> NetworkCosts:
    link, nic, pcie = file.link, file.nic, file.pcie
    for path, constant in (
        ("link.mtu_bytes", link.mtu_bytes),
        ("pcie.payload_bytes", pcie.payload_bytes),
        ("nic.max_outstanding_count", nic.max_outstanding_count),
    ):
        if constant.value < 1:
            raise ConfigError(f"{path}: found {constant.value}, expected at least 1")
    link_rate = ps_per_kib(link.rate_gbps)
    values = {
        "link_ps_per_kib": link_rate,
        "mtu_bytes": int(link.mtu_bytes.value),
        "response_header_bytes": int(link.response_header_bytes.value),
        "request_wire_ps": (int(link.request_bytes.value) * link_rate + 512) >> 10,
        "transit_ps": constant_ps(link.propagation_ns) + constant_ps(nic.transit_ns),
        "qp_service_ps": constant_ps(nic.qp_service_ns),
        "wr_service_ps": constant_ps(nic.wr_service_ns),
        "wr_miss_ps": constant_ps(nic.wr_miss_ns),
        "cached_requests": int(nic.cached_requests_count.value),
        "max_outstanding": int(nic.max_outstanding_count.value),
        "responder_service_ps": constant_ps(nic.responder_service_ns),
        "pcie_ps_per_kib": ps_per_kib(pcie.rate_gbps),
        "pcie_payload_bytes": int(pcie.payload_bytes.value),
        "pcie_header_bytes": int(pcie.header_bytes.value),
        "doorbell_ps": constant_ps(pcie.write_ns),
        "wqe_fetch_ps": constant_ps(pcie.wqe_fetch_ns),
        "pcie_read_ps": constant_ps(pcie.read_ns),
        "pcie_write_ps": constant_ps(pcie.write_ns) + constant_ps(nic.remainder_ns),
        "receive_ps": constant_ps(pcie.write_ns),
    }
    times = [name for name in values if name.endswith(("_ps", "_per_kib"))]
    is_free = not any(values[name] for name in times)
    if not is_free and not values["request_wire_ps"] and not file.nic_shares_core:
        raise ConfigError(
            "link.rate_gbps: found no serialisation time of a request, expected some: requests that share a link keep "
            "their order by it (a network without any cost has all times 0)"
        )
    costs = NetworkCosts(
        **values,
        tails=file.tails,
        typical_ps=0,
        p99_permille=int(nic.tail_p99_permille.value),
        p999_permille=int(nic.tail_p999_permille.value),
        is_free=is_free,
    )
    return replace(costs, typical_ps=unloaded_read_ps(costs, 8))
