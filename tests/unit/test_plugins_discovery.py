"""Plug-ins: found lazily, and every way in which one can be wrong has its message."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from riftsim import plugins
from riftsim.controller.protocol import Controller
from riftsim.errors import PluginError
from riftsim.testing import check_placement


@pytest.fixture
def announce(tmp_path, monkeypatch):
    """Return a function that makes a distribution with entry points, importable within the test."""

    def make(distribution: str, entries: dict[str, str], **modules: str) -> None:
        site = tmp_path / f"site-{distribution}"
        info = site / f"{distribution}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"[{plugins.GROUP}]", *(f"{name} = {value}" for name, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
        for name, text in modules.items():
            (site / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(site))

    return make


GOOD = "class Placed:\n    def __init__(self, run=1): self.run = run\n    def __call__(self, ids, m): return ids % m\n"


def test_nothing_is_imported_before_it_is_asked_for(announce):
    announce("lazy", {"placement:one": "lazy_plugin:Placed", "gate:two": "none:none"}, lazy_plugin=GOOD)
    assert ("placement", "one") in plugins.installed()
    assert ("gate", "two") not in plugins.installed("placement")
    assert "lazy_plugin" not in sys.modules
    assert plugins.make("placement", "one", {"run": 3}).run == 3
    assert "lazy_plugin" in sys.modules


def test_a_missing_one_names_the_nearest_and_the_installed(announce):
    announce("near", {"placement:striped_x": "m:f", "gate:other": "m:f"})
    with pytest.raises(
        PluginError, match=r"placement plug-in 'stripedx': not installed \(did you mean 'striped_x'\?\)"
    ):
        plugins.load("placement", "stripedx")


def test_one_announced_twice_is_ambiguous(announce):
    announce("first", {"placement:same": "a:f"})
    announce("second", {"placement:same": "b:f"})
    with pytest.raises(PluginError, match=r"'same': announced 2 times \(a:f of first 1\.0; b:f of second 1\.0\)"):
        plugins.load("placement", "same")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:f", r"cannot be imported: ModuleNotFoundError"),
        ("broken_plugin:missing", r"cannot be imported: AttributeError"),
        ("broken_plugin:number", r"found int, expected a class or function"),
    ],
)
def test_one_that_cannot_be_used(announce, value, message):
    announce("broken", {"placement:bad": value}, broken_plugin="number = 3\n")
    with pytest.raises(PluginError, match=message):
        plugins.load("placement", "bad")


def test_options_that_do_not_fit(announce):
    announce("options", {"placement:opt": "options_plugin:Placed"}, options_plugin=GOOD)
    with pytest.raises(PluginError, match=r"'opt': options \['rum'\]: .*unexpected keyword argument 'rum'"):
        plugins.make("placement", "opt", {"rum": 3})


def test_a_product_of_another_type(announce):
    announce("typed", {"placement:typed": "typed_plugin:Placed"}, typed_plugin=GOOD)
    with pytest.raises(PluginError, match="made a Placed, expected what dict describes"):
        plugins.make("placement", "typed", {}, dict)


@pytest.mark.parametrize(
    ("block", "entry", "message"),
    [
        ({"kind": "plugin", "name": "bad"}, "system:bad", "made a NoneType, expected what System describes"),
        ({"kind": "plugin", "name": "bad", "options": {"x": 1}}, "system:bad", r"options \['x'\]: .* 'x'"),
        (
            {"kind": "riftann", "gate": {"kind": "plugin", "name": "bad"}},
            "gate:bad",
            r"gate plug-in 'bad': options \[\]: .*missing 1 required positional argument",
        ),
        (
            {"kind": "riftann", "balancing": {"kind": "plugin", "name": "bad"}},
            "controller:bad",
            r"controller plug-in 'bad': options \[\]: .*missing 1 required positional argument",
        ),
    ],
)
def test_a_plug_in_of_another_form_is_named(announce, block, entry, message):
    from riftsim.assembly import run_point
    from riftsim.config.sweep import load_experiment

    announce("bad", {entry: "bad_plugin:build"}, bad_plugin="def build(context): return None\n")
    small = {"name": "sift-photos-10k", "n": 300, "queries": 2}
    plan = {"name": "e", "dataset": small, "index": {"kind": "vamana", "R": 8, "L": 16}, "system": block}
    with pytest.raises(PluginError, match=message):
        run_point(load_experiment(plan).points[0].config)


@pytest.mark.parametrize("expected", [Controller, Callable])
def test_a_policy_that_is_none(announce, expected):
    announce("none", {"gate:none": "none_plugin:build"}, none_plugin="def build(): return 3\n")
    with pytest.raises(PluginError, match=f"made a int, expected what {expected.__name__} describes"):
        plugins.make("gate", "none", {}, expected)


class TestPlacementContract:
    @pytest.mark.parametrize(
        ("place", "message"),
        [
            (lambda ids, m: ids, r"found memory node 1 for id 1, expected 0 to 0"),
            (lambda ids, m: ids % m - 1, r"found memory node -1 for id 0"),
            (lambda ids, m: (ids % m).astype(float), r"found float64 \(1,\), expected integers"),
            (lambda ids, m: (ids % m)[:-1], r"found int64 \(0,\), expected integers of shape \(1,\)"),
            (3, r"the factory made a int"),
        ],
    )
    def test_what_breaks_it(self, place, message):
        with pytest.raises(PluginError, match=message):
            check_placement(lambda: place)

    def test_an_answer_that_changes(self):
        rng = np.random.default_rng(0)
        with pytest.raises(PluginError, match="expected the same each time"):
            check_placement(lambda: lambda ids, m: rng.integers(0, m, len(ids)))

    def test_changing_the_ids(self):
        def place(ids, memory_nodes):
            ids %= memory_nodes
            return ids

        with pytest.raises(PluginError, match="changes the ids"):
            check_placement(lambda: place)
