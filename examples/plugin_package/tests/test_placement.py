"""The checks that riftsim offers to authors of plug-ins."""

import pytest
from riftsim_example.placement import Striped

from riftsim.testing import check_installed, check_placement


@pytest.mark.parametrize("run", [1, 7, 10_000])
def test_the_placement_keeps_its_contract(run):
    check_placement(Striped, {"run": run})


def test_the_placement_is_announced():
    check_installed("placement", "striped")
