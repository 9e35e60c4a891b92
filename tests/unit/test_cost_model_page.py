"""The cost model's page says what the profiles say."""

import re
from pathlib import Path

import pytest

from riftsim.rdma.description import constants_markdown

PAGE = Path(__file__).parents[2] / "docs" / "cost_model.md"


@pytest.mark.parametrize(
    ("name", "unlike"),
    [("connectx5-100g", None), ("connectx6-200g", "connectx5-100g"), ("cxl-like", "connectx5-100g")],
)
def test_tables_are_those_of_the_profiles(name, unlike):
    mark = f"<!-- constants: {name}{f' unlike {unlike}' if unlike else ''} -->\n"
    table = re.match(r"(?:\|.*\n)*", PAGE.read_text(encoding="utf-8").partition(mark)[2])[0]
    assert table == constants_markdown(name, unlike), "run scripts/update_cost_model.py"
