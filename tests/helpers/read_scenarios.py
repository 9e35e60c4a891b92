"""Chains of reads of which some fail, for any port: what comes back was recorded on SoftRoCE and must be the same."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from riftsim.transport.port import Read, Status

RECORDED = Path(__file__).parents[1] / "data" / "rxe_completions.json"

REGION_BYTES = 1 << 16
SLOTS = 16
SLOT_BYTES = 1024


@dataclass(frozen=True)
class Scenario:
    """Chains that are posted one after the other to the first queue pair of a port, and what is wrong.

    ``chains`` has (slot, offset, length) for each read; ``fault`` is one of none, rkey (the region's key is wrong),
    killed (the memory node is gone before the first chain); ``drained``: whether a chain is over before the next.
    """

    chains: list[list[tuple[int, int, int]]]
    last_only: bool = False
    fault: str = "none"
    drained: bool = False

    @property
    def reads(self) -> int:
        return sum(map(len, self.chains))


def chain(*offsets: int, first: int = 0, length: int = 64) -> list[tuple[int, int, int]]:
    return [(first + at, offset, length) for at, offset in enumerate(offsets)]


OUT = REGION_BYTES
SCENARIOS = {
    "all well": Scenario([chain(0, 64, 128, 192)]),
    "all well, last signalled": Scenario([chain(0, 64, 128, 192)], last_only=True),
    "one beyond the region": Scenario([chain(OUT)]),
    "one across the region's end": Scenario([chain(OUT - 32)]),
    "middle beyond the region": Scenario([chain(0, 64, OUT, 128, 192)]),
    "middle beyond the region, last signalled": Scenario([chain(0, 64, OUT, 128, 192)], last_only=True),
    "last beyond the region, last signalled": Scenario([chain(0, 64, OUT)], last_only=True),
    "two beyond the region": Scenario([chain(0, OUT, 64, OUT, 128)]),
    "posted after an error": Scenario([chain(0, OUT, 64), chain(0, 64, first=3)], drained=True),
    "posted after an error, last signalled": Scenario(
        [chain(OUT), chain(0, 64, first=3)], last_only=True, drained=True
    ),
    "wrong key": Scenario([chain(0, 64, 128)], fault="rkey"),
    "beyond the landing buffer": Scenario([[(0, 0, 64), (SLOTS - 1, 0, SLOT_BYTES + 64), (1, 0, 64)]]),
    "killed memory node": Scenario([chain(0, 64, 128)], fault="killed"),
    "killed memory node, last signalled": Scenario([chain(0, 64, 128)], last_only=True, fault="killed"),
}


def play(port, scenario: Scenario, *, quiet_s: float) -> list[list]:
    """Post the chains of a scenario; the completions as [work request, status].

    Ends when every read has completed, or none has for ``quiet_s`` after the first.
    """
    found: list[list] = []
    for reads in scenario.chains:
        port.post(0, [Read(*read) for read in reads], last_only=scenario.last_only)
        if scenario.drained:
            _drain(port, found, len(reads), quiet_s)
    if not scenario.drained:
        _drain(port, found, scenario.reads, quiet_s)
    return found


def _drain(port, found: list, most: int, quiet_s: float) -> None:
    before, until = len(found), time.monotonic() + 30
    while len(found) - before < most and time.monotonic() < until:
        entries = port.poll()
        found += [[entry.wr, Status(entry.status).name] for entry in entries]
        if entries:
            until = time.monotonic() + quiet_s


def recorded() -> dict:
    return json.loads(RECORDED.read_text())
