"""Sweeps: the grid, the names of its points, and settings that end an axis."""

import functools
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftsim.config import canonical
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError

MINIMAL = {"name": "test", "dataset": {"name": "d"}}
SYSTEMS = [{"kind": "in_memory_vamana"}, {"kind": "remote_vamana"}, {"kind": "async_vamana", "beam_width": 8}]


def sweep(axes, settings=(), **blocks):
    return load_experiment({**MINIMAL, "sweep": axes, **blocks}, settings).points


def test_the_grid_is_the_product_with_the_last_axis_fastest():
    points = sweep({"system": SYSTEMS, "search.L": [10, 20]})
    kinds = [(point.config.system.__struct_config__.tag, point.config.search.L) for point in points]
    assert kinds == list(itertools.product(["in_memory_vamana", "remote_vamana", "async_vamana"], [10, 20]))
    assert [point.slug for point in points][::2] == [
        "in_memory_vamana-L10",
        "remote_vamana-L10",
        "async_vamana-beam_width8-L10",
    ]
    assert all(point.config.sweep == {} for point in points)


def test_without_a_sweep_there_is_one_point():
    (point,) = sweep({})
    assert point.slug == "remote_vamana"


@pytest.mark.parametrize(
    ("axis", "values", "slugs"),
    [
        ("search", [{"k": 5, "L": 20}, {"k": 5, "L": 30}], ["k5-L20", "k5-L30"]),
        ("hardware", ["ideal", "profiles/my nic.yaml"], ["ideal", "my_nic"]),
        ("measured_queries", [None, 5], ["measured_queries-null", "measured_queries5"]),
        ("index.alpha", [1.0, 1.25], ["alpha1.0", "alpha1.25"]),
        ("load.concurrency", [1, 2], ["concurrency1", "concurrency2"]),
    ],
)
def test_slugs_are_readable(axis, values, slugs):
    assert [point.slug for point in sweep({axis: values})] == slugs


def test_axes_with_the_same_last_name_keep_the_whole_key():
    slugs = [point.slug for point in sweep({"index.L": [50], "search.L": [20, 30]})]
    assert slugs == ["index_L50-search_L20", "index_L50-search_L30"]


def test_long_slugs_are_cut_and_stay_unique():
    names = ["x" * 200 + str(i) for i in range(3)]
    slugs = [point.slug for point in sweep({"system": [{"kind": "plugin", "name": name} for name in names]})]
    assert len(set(slugs)) == 3
    assert max(map(len, slugs)) <= 96


@given(st.lists(st.text(min_size=1, max_size=120), min_size=1, max_size=6, unique=True))
def test_slugs_are_safe_and_unique_whatever_the_values(names):
    points = sweep({"system": [{"kind": "plugin", "name": name} for name in names]})
    slugs = [point.slug for point in points]
    assert len({slug.lower() for slug in slugs}) == len(slugs) == len(names)
    for slug in slugs:
        assert re.fullmatch(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]*", slug)
        assert len(slug) <= 96


def test_setting_a_swept_key_ends_its_axis():
    points = sweep({"system": SYSTEMS, "search.L": [10, 20]}, ["search.L=40"])
    assert [point.config.search.L for point in points] == [40, 40, 40]
    points = sweep({"system": SYSTEMS, "search.L": [10, 20]}, ["search={k: 5, L: 8}"])
    assert [point.config.search.L for point in points] == [8, 8, 8]


def test_setting_inside_a_swept_block_wins_at_every_point_and_equal_points_are_one():
    points = sweep({"system": SYSTEMS, "search.L": [10, 20]}, ["system.kind=remote_vamana"])
    assert [(point.config.system.beam_width, point.config.search.L) for point in points] == [
        (4, 10),
        (4, 20),
        (8, 10),
        (8, 20),
    ]


def test_an_axis_can_be_set_and_the_sweep_removed():
    assert [point.config.search.L for point in sweep({"search.L": [10, 20]}, ["sweep.search.L=[30, 40]"])] == [30, 40]
    assert len(sweep({"search.L": [10, 20]}, ["sweep={}"])) == 1


def test_an_axis_may_reach_into_a_block_that_the_file_leaves_to_its_default():
    points = sweep({"system.beam_width": [1, 2], "load.concurrency": [7]})
    assert [point.config.system.beam_width for point in points] == [1, 2]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"search.Lx": [1]}, r'\$\.sweep\["search\.Lx"\]\[0\]: \$\.search has no key \'Lx\' \(did you mean \'L\'\?\)'),
        ({"search.L": []}, r'\$\.sweep\["search\.L"\]: found an empty list'),
        ({"search.L": [20, 30, 20]}, r"found 20 twice, expected each value once"),
        ({"search.L": 20}, r'\$\.sweep\["search\.L"\]: found 20, expected list'),
        ({"name": ["a", "b"]}, r"'name' cannot be swept"),
        ({"sweep.search.L": [1]}, r"'sweep' cannot be swept"),
        ({"search.L": [20, "x"]}, r'\$\.sweep\["search\.L"\]\[1\]: \$\.search\.L: found \'x\', expected int'),
        ({"search.L": [20, 5]}, r'\$\.sweep\["search\.L"\]\[1\]: \$\.search\.L: found 5, expected at least'),
        ({"search..L": [1]}, r"found an empty name between dots"),
        ({"seed": list(range(1000)), "search.L": list(range(10, 1000))}, r"990000 points, expected at most 100000"),
    ],
)
def test_a_wrong_axis_names_its_place(axes, message):
    with pytest.raises(ConfigError, match=message):
        sweep(axes)


def test_one_and_true_are_different_values_of_an_axis():
    with pytest.raises(ConfigError, match="found True, expected int"):
        sweep({"seed": [1, True]})


def test_a_long_sweep_reads_each_file_once(monkeypatch):
    asked = []

    def read(path, **how):
        asked.append(path.name)
        raise ConfigError("not to be read")

    monkeypatch.setattr(canonical, "read", read)
    monkeypatch.setattr(canonical, "_contents", functools.lru_cache(canonical._contents.__wrapped__))
    points = sweep({"seed": list(range(200))}, dataset={"name": "sift-photos-10k"})
    assert len(points) == 200
    assert sorted(asked) == ["connectx5-100g.yaml", "sift-photos-10k.yaml"]


def test_a_point_of_a_long_sweep_that_is_wrong_names_its_line(tmp_path):
    path = tmp_path / "long.yaml"
    lines = [f"    - {value}" for value in [*range(4, 203), -1]]
    path.write_text("\n".join(["name: e", "dataset: {name: d}", "sweep:", "  search.L:", *lines]))
    with pytest.raises(ConfigError, match=r"long\.yaml:204: \$\.sweep\[\"search\.L\"\]\[199\]: .*found -1"):
        load_experiment(path, {"search.k": 1})


@pytest.mark.parametrize(
    "twice", [3, 1.5, "a", {"kind": "riftann", "window": 4}, {"window": 4, "kind": "riftann"}, None]
)
def test_the_same_value_twice_is_refused_and_only_that(twice):
    axes = {"system": [{"kind": "riftann", "window": 4}, 3, True, 3.0, 1, 1.5, "a", "3", None, twice]}
    with pytest.raises(ConfigError, match=r"found .* twice, expected each value once"):
        sweep(axes)
