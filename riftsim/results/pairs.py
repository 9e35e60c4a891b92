"""Two runs query by query: can they be compared, what was configured differently, what did each query do."""

import json
from typing import Any

import numpy as np
import pandas as pd

from riftsim.errors import ResultsError
from riftsim.results.compare import MEASURES
from riftsim.results.store import Run

_PRESENTATION = ("name", "description", "sweep", "plots")


def require_comparable(run: Run, reference: Run) -> None:
    """Refuse two runs whose queries are not the same, or that answer different questions.

    Raises
    ------
    ResultsError
        Names everything that differs: data set, k, queries, seeds.
    """
    found = []
    names = [each.config.get("dataset", {}).get("name") for each in (run, reference)]
    if run.manifest["hashes"].get("dataset") != reference.manifest["hashes"].get("dataset"):
        found.append(f"data set {names[0]} against {names[1]} (or other vectors of it)")
    if run.k != reference.k:
        found.append(f"search.k {run.k} against {reference.k}")
    own, others = (set(each.queries["query"]) for each in (run, reference))
    if own != others:
        found.append(f"{len(own)} evaluated queries against {len(others)}, {len(own & others)} of them the same")
    if found:
        raise ResultsError(f"{run.path} and {reference.path} cannot be compared: {'; '.join(found)}; expected the same")


def configured_differences(run: Run, reference: Run) -> list[tuple[str, Any, Any]]:
    """Return dotted keys in which two configurations differ, with the values of the run and of the reference."""
    keys = dict.fromkeys([*reference.parameters, *run.parameters])
    values = [(key, run.parameters.get(key), reference.parameters.get(key)) for key in keys]
    return [
        (key, own, other)
        for key, own, other in values
        if key.split(".")[0] not in _PRESENTATION
        and json.dumps(own, sort_keys=True) != json.dumps(other, sort_keys=True)
    ]


def paired_queries(run: Run, reference: Run) -> pd.DataFrame:
    """Put the queries of two comparable runs side by side.

    Returns
    -------
    DataFrame
        One row per evaluated query, indexed by it; for each measure of ``compare.MEASURES`` that both runs have
        ``<measure>`` and ``<measure>_reference``, means where a query was measured several times.
    """
    columns: dict[str, pd.Series] = {}
    for measure, values_of in MEASURES.items():
        values = [values_of(each.queries) for each in (run, reference)]
        if all(len(values) == len(each.queries) for values, each in zip(values, (run, reference), strict=True)):
            for name, own, each in zip((measure, f"{measure}_reference"), values, (run, reference), strict=True):
                columns[name] = pd.Series(np.asarray(own)).groupby(each.queries["query"].to_numpy()).mean()
    return pd.DataFrame(columns).rename_axis("query")
