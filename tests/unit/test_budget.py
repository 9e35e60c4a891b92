"""The memory budget itemises what does not fit."""

import pytest

from riftsim.computenode.budget import MemoryBudget
from riftsim.errors import BudgetError


def test_what_fits_is_accepted_to_the_last_byte():
    budget = MemoryBudget(2_000_000_130, [("codes", 2_000_000_000), ("pivots", 100)])
    budget.charge("pivots", 30)
    budget.require()
    assert budget.items == {"codes": 2_000_000_000, "pivots": 130}


def test_what_does_not_fit_is_itemised_largest_first():
    budget = MemoryBudget(1_500_000_000, [("pivots", 131_072), ("codes", 2_000_000_000), ("placement table", 0)])
    with pytest.raises(BudgetError) as refused:
        budget.require()
    head, *rows = str(refused.value).splitlines()
    assert "500131072 bytes" in head
    assert [row.split("  ")[1].strip() for row in rows] == ["codes", "pivots", "placement table", "sum", "limit"]
    assert len({len(row) for row in rows}) == 1
    assert "2,000,131,072 bytes" in rows[3]
    assert "1,500,000,000 bytes" in rows[4]


def test_negative_size_is_refused():
    with pytest.raises(ValueError, match="codes: -1 bytes"):
        MemoryBudget(10, [("codes", -1)])
