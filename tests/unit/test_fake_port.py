"""The fake memory nodes answer as SoftRoCE did: every recorded sequence of completions comes again."""

import numpy as np
import pytest
from fake_port import FakeMemoryNode, FakePort
from read_scenarios import REGION_BYTES, SCENARIOS, SLOT_BYTES, SLOTS, play, recorded

from riftsim.transport.port import Status


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_recorded_sequence_comes_again(name):
    scenario = SCENARIOS[name]
    node = FakeMemoryNode(np.zeros(REGION_BYTES, np.uint8), killed=scenario.fault == "killed")
    if scenario.fault == "rkey":
        node.refused = {0: Status.REM_ACCESS_ERR}
    port = FakePort([node], SLOTS, SLOT_BYTES)
    assert play(port, scenario, quiet_s=0.0) == recorded()["sequences"][name]


def test_every_recorded_scenario_is_known():
    assert recorded()["sequences"].keys() == SCENARIOS.keys()
