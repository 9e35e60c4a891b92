"""The claims file as data: what it holds, and what the loader refuses."""

import collections
import math
import re

import pytest

from riftsim.errors import ConfigError
from riftsim.reproduction.claims import load_claims

CLAIMS = {claim.id: claim for claim in load_claims()}


def test_all_claims_are_there_with_their_roles():
    assert len(CLAIMS) == 138
    roles = collections.Counter(claim.role for claim in CLAIMS.values())
    assert roles == {"predict": 123, "calibrate": 8, "selects": 7}
    assert list(dict.fromkeys(claim.section for claim in CLAIMS.values())) == [
        "motivation", "overall", "billion", "breakdown", "pipeline", "gate", "balancing", "scalability",
    ]  # fmt: skip


def test_numbers_printed_twice_count_once():
    assert CLAIMS["D04"].counted_with == ("B01", "B06")
    assert CLAIMS["G07"].counted_with == ("P06", "P14", "P15")
    assert CLAIMS["M28"].counted_with == ("C05", "C06")
    assert not CLAIMS["M28"].counts
    assert CLAIMS["C05"].counts


def test_what_is_counted_with_others_ends_at_claims_that_count():
    for claim in CLAIMS.values():
        reached = set(claim.counted_with)
        for _ in CLAIMS:
            reached |= {other for one in reached for other in CLAIMS[one].counted_with}
        assert claim.id not in reached
        ends = {one for one in reached if not CLAIMS[one].counted_with}
        assert bool(ends) == bool(claim.counted_with)
        assert all(CLAIMS[one].counts for one in ends), claim.id


def test_rates_of_closed_loops_count_with_the_latencies_that_they_follow_from():
    """With a fixed number of queries in flight; where the latency is no claim (D08, S01) the rate counts."""
    pairs = {
        "O11": "O04", "O12": "O05", "O13": "O06", "O16": "O15", "B08": "B05", "B09": "B03", "B11": "B10",
        "D06": "D05", "D07": "D09", "P15": "P14", "P21": "P20",
    }  # fmt: skip
    assert {name: CLAIMS[name].counted_with for name in pairs} == {name: (to,) for name, to in pairs.items()}
    assert CLAIMS["B06"].counted_with == ("B01", "B02")
    assert CLAIMS["O14"].counted_with == CLAIMS["O19"].counted_with == ("M23", "O07")
    assert all(CLAIMS[name].counts for name in ("B07", "D08", "P05", "P19", "P20", "G17", "S01", "S03", "S05"))


def numbers(claim_id):
    return [(target.name, target.unit, target.low, target.high) for target in CLAIMS[claim_id].targets]


@pytest.mark.parametrize(
    ("claim_id", "expected"),
    [
        ("M01", [("", "us", 2, 3)]),
        ("M08", [("", "x", -math.inf, 0.123)]),
        ("D01", [("latency", "ms", 4.08, 4.08), ("throughput", "kqps", 6.59, 6.59)]),
        ("M17", [("", "x", 1.8, 6.1)]),
        (
            "C04",
            [
                ("workers before", "workers", 4.0, 4.0),
                ("workers in the burst", "workers", 5.9, 5.9),
                ("window before", "reads", 7.8, 7.8),
                ("window in the burst", "reads", 5.0, 5.0),
            ],
        ),
        # Recalls as differences from verify-all's 0.9559, coverage as miss rate.
        (
            "P06",
            [
                ("expansion-only", "recall", -0.0329, -0.0329),
                ("calibrated", "recall", -0.0012, -0.0012),
                ("verify-all", "recall", 0, 0),
            ],
        ),
        ("P09", [("SIFT", "x", 0.0012, 0.0012), ("DEEP", "x", 0.0015, 0.0015), ("SPACEV", "x", 0.0017, 0.0017)]),
        ("M30", []),
    ],
)
def test_numbers_of_a_claim(claim_id, expected):
    assert numbers(claim_id) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{id: A, where: s, what: w, kind: ratio, unit: x, value: 1, role: predict, colour: red}", "colour"),
        ("{id: A, where: s, what: w, kind: ratio, unit: x, value: 1, role: guess}", "guess"),
        (
            "{id: A, where: s, what: w, kind: ratio, unit: x, value: [1, 2], role: predict}",
            "expected a number or bound",
        ),
        ("{id: A, where: s, what: w, kind: ratio, unit: x, value: [2, 1], form: range, role: predict}", "a range"),
        (
            "{id: A, where: s, what: w, kind: ratio, unit: x, value: [1], form: tuple, parts: [a, b], role: predict}",
            "1 n",
        ),
        ("{id: A, where: s, what: w, kind: ratio, unit: furlong, value: 1, role: predict}", "furlong"),
        ("{id: A, where: s, what: w, kind: ratio, unit: x, value: about 1, role: predict}", "about 1"),
        ("{id: A, where: s, what: w, kind: order, value: 1, role: predict}", "no number"),
        ("{id: A, where: s, what: w, kind: order, role: predict, counted_with: [Z]}", "'Z'"),
    ],
)
def test_what_the_loader_refuses(tmp_path, line, message):
    path = tmp_path / "claims.yaml"
    path.write_text(f"section:\n  - {line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load_claims(path)
    assert "claims.yaml" in str(caught.value)
    assert "A" in str(caught.value)


def test_an_id_twice_names_the_line(tmp_path):
    path = tmp_path / "claims.yaml"
    line = "  - {id: A, where: s, what: w, kind: order, role: predict}\n"
    path.write_text(f"section:\n{line}{line}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"claims\.yaml:3: .*'A' twice"):
        load_claims(path)
