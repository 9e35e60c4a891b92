"""The cost model's page says what the profiles say."""

import re
from pathlib import Path

import pytest

from riftsim.rdma.description import constants_markdown
from riftsim.storage.description import ssd_constants_markdown
from riftsim.storage.profile import is_ssd_profile

PAGE = Path(__file__).parents[2] / "docs" / "cost_model.md"


@pytest.mark.parametrize(
    ("name", "unlike"),
    [
        ("connectx5-100g", None),
        ("connectx6-200g", "connectx5-100g"),
        ("cxl-like", "connectx5-100g"),
        ("samsung-980pro", None),
    ],
)
def test_tables_are_those_of_the_profiles(name, unlike):
    mark = f"<!-- constants: {name}{f' unlike {unlike}' if unlike else ''} -->\n"
    table = re.match(r"(?:\|.*\n)*", PAGE.read_text(encoding="utf-8").partition(mark)[2])[0]
    expected = ssd_constants_markdown(name) if is_ssd_profile(name) else constants_markdown(name, unlike)
    assert table == expected, "run scripts/update_cost_model.py"
