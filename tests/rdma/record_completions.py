"""Records what this device answers in every scenario: ``python -m pytest tests/rdma/record_completions.py``.

RIFTSIM_RECORD names the file to be written; ``pytest tests/rdma`` alone does not collect it.
"""

import json
import os
import platform
from pathlib import Path

import pytest
from read_scenarios import SCENARIOS
from test_read_failures import completions_of, killed, node

__all__ = ["killed", "node"]

pytestmark = pytest.mark.rdma


def test_record(device, node, killed):
    sequences = {name: completions_of(name, node, killed) for name in SCENARIOS}
    record = {"device": f"{device}; {platform.system()} {platform.release()}", "sequences": sequences}
    Path(os.environ["RIFTSIM_RECORD"]).write_text(json.dumps(record, indent=1) + "\n")
