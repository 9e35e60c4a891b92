"""The scoreboard: every claim with our number, interval and verdict; as JSON, Parquet and Markdown."""

import dataclasses
import difflib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import riftsim.reproduction.sections  # noqa: F401 (fills MEASURES)
from riftsim.errors import ConfigError, ResultsError
from riftsim.files import atomic_write
from riftsim.reproduction.claims import Claim
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.measuring import AT_090, MEASURES
from riftsim.reproduction.scoring import ClaimScore, Missing, Order, Ours, PartScore, Value, count, score
from riftsim.reproduction.variants import base_profile
from riftsim.results import provenance

FORMAT, SCHEMA_VERSION = "riftsim-scoreboard", 1
NOT_ASKED = "not asked for"


def chosen_claims(claims: Sequence[Claim], names: Sequence[str]) -> set[str]:
    """Return the ids of the claims that names stand for.

    Parameters
    ----------
    claims : sequence of Claim
    names : sequence of str
        Experiment folders, figures or tables by which they begin (``fig09``), sections or ids; all claims if there are
        none.

    Raises
    ------
    ConfigError
        A name that is none of these.
    """
    chosen: set[str] = set()
    for name in names:
        found = {c.id for c in claims if name.casefold() in _names(c)}
        if not found:
            close = difflib.get_close_matches(name.casefold(), {known for c in claims for known in _names(c)}, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ConfigError(
                f"reproduce: found {name!r}{hint}, expected the id of a claim (P10), a folder of experiments, its "
                f"figure or table (fig09) or a section ({', '.join(dict.fromkeys(c.section for c in claims))})"
            )
        chosen |= found
    return chosen if names else {claim.id for claim in claims}


def _names(claim: Claim) -> set[str]:
    """Return what a claim can be asked for by, in small letters."""
    measure = MEASURES[claim.id]
    folders = [folder for folder in (measure.experiment, measure.figure) if folder]
    printed = {word for folder in folders for word in folder.split("_") if word.startswith(("fig", "table"))}
    return {claim.id.casefold(), claim.section, *folders, *printed}


def evaluate(
    lab: Lab,
    claims: Sequence[Claim],
    chosen: set[str],
    on_score: Callable[[ClaimScore], None] = lambda score: None,
) -> list[ClaimScore]:
    """Measure and judge claims.

    Parameters
    ----------
    lab : Lab
        Runs what is missing.
    claims : sequence of Claim
    chosen : set of str
        Ids of those that are measured; the others are not run.
    on_score : callable
        Is told of each claim that was measured.

    Returns
    -------
    list of ClaimScore
        In the order of the claims.
    """
    scores = []
    for claim in claims:
        if claim.id not in chosen:
            scores.append(score(claim, Missing(NOT_ASKED)))
            continue
        scores.append(score(claim, _measured(lab, claim)))
        on_score(scores[-1])
    return scores


def _measured(lab: Lab, claim: Claim) -> list[Ours] | Missing:
    try:
        ours = list(MEASURES[claim.id].function(lab))
        return [_with_place(lab, claim, one) for one in ours]
    except (NotMeasured, ResultsError) as reason:
        return Missing(str(reason))


def _with_place(lab: Lab, claim: Claim, ours: Ours) -> Ours:
    """Say what a number was matched on, where the measuring function has not."""
    if not isinstance(ours, Value) or ours.on:
        return ours
    if claim.section in ("pipeline", "gate", "balancing"):
        return dataclasses.replace(ours, on=lab.on("SIFT", "work" if claim.match == "work" else "0.95"))
    return dataclasses.replace(ours, on=AT_090)


# ---------------------------------------------------------------- as data


def as_record(lab: Lab, scores: Sequence[ClaimScore], paper: str = "riftann") -> dict[str, Any]:
    """Return the scoreboard as plain JSON types: provenance, counts, costs, and a record per claim."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "paper": paper,
        "level": lab.level.name,
        "hardware": base_profile(lab.hardware).name,
        "sets": lab.level.sets,
        **provenance.collect(0),
        "run_commits": sorted({str(run.manifest.get("versions", {}).get("commit")) for run in lab.used.values()}),
        "counts": {role: count(scores, role) for role in ("predict", "calibrate")},
        "shown_only": {
            "decided a reading": [one.claim.id for one in scores if one.claim.role == "selects"],
            "counted with others": {one.claim.id: one.claim.counted_with for one in scores if one.claim.counted_with},
        },
        "costs": {name: dataclasses.asdict(cost) for name, cost in sorted(lab.costs.items())},
        "claims": [_claim_record(one) for one in scores],
    }


def _claim_record(one: ClaimScore) -> dict[str, Any]:
    claim = one.claim
    return {
        "id": claim.id,
        "section": claim.section,
        "where": claim.where,
        "what": claim.what,
        "kind": claim.kind,
        "role": claim.role,
        "match": claim.match,
        "approximate": claim.approximate,
        "reading": claim.reading,
        "counts": claim.counts,
        "experiment": MEASURES[claim.id].experiment,
        "verdict": one.verdict,
        "reason": one.reason,
        "parts": [_part_record(part) for part in one.parts],
    }


def _part_record(part: PartScore) -> dict[str, Any]:
    target, ours = part.target, part.ours
    record: dict[str, Any] = {
        "name": target.name if target else "",
        "unit": target.unit if target else "",
        "paper": target.text() if target else "order",
        "paper_low": target.low if target else math.nan,
        "paper_high": target.high if target else math.nan,
        "reference": target.reference if target else None,
        "ours": math.nan,
        "low": math.nan,
        "high": math.nan,
        "ratio": part.ratio,
        "verdict": part.verdict or "reference",
        "extrapolated": False,
        "on": "",
    }
    if isinstance(ours, Value):
        record |= {"ours": ours.value, "low": ours.low, "high": ours.high}
        record |= {"extrapolated": ours.extrapolated, "on": ours.on}
    elif isinstance(ours, Order):
        record |= {"extrapolated": ours.extrapolated, "on": ours.on}
    else:
        record["on"] = ours.reason
    return record


def write(record: dict[str, Any], folder: Path) -> list[Path]:
    """Write a scoreboard as ``scoreboard.json``, ``scoreboard.parquet`` (a row per number) and ``scoreboard.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"scoreboard.{ending}" for ending in ("json", "parquet", "md")]
    with atomic_write(paths[0]) as partial:
        partial.write_text(json.dumps(_plain(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with atomic_write(paths[1]) as partial:
        pq.write_table(pa.Table.from_pylist(_flat_rows(record)), partial, compression="zstd")
    with atomic_write(paths[2]) as partial:
        partial.write_text(markdown(record), encoding="utf-8")
    return paths


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for claim in record["claims"]:
        own = {key: value for key, value in claim.items() if key != "parts"}
        own["claim_verdict"] = own.pop("verdict")
        for number, part in enumerate(claim["parts"] or [{"verdict": "not run"}]):
            rows.append({**own, "part": number, **part})
    return rows


# ---------------------------------------------------------------- as text


def number(value: float | None) -> str:
    """Write a number with four digits; nothing if there is none."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def text_of(part: dict[str, Any]) -> str:
    """Write our number with its interval, or what an order or missing number says."""
    if part["paper"] == "order" or part["verdict"] == "not run":
        return part["on"]
    interval = f" [{number(part['low'])}, {number(part['high'])}]" if part["low"] != part["high"] else ""
    return f"{number(part['ours'])}{interval if number(part['low']) else ''}"


def lines_of(claim: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Return the lines of a claim in a table: what, the paper's number, ours, ratio, verdict; one per number."""
    mark = {"selects": " (decided a reading)", "calibrate": " (may calibrate)", "predict": ""}[claim["role"]]
    if not claim["parts"]:
        return [(claim["what"] + mark, "", claim["reason"], "", claim["verdict"])]
    lines = []
    for position, part in enumerate(claim["parts"]):
        # Several numbers of one range have no names: what they were measured on tells them apart.
        name = part["name"] or (part["on"] if len(claim["parts"]) > 1 and part["verdict"] != "not run" else "")
        name = f": {name}" if name else ""
        what = (claim["what"] + mark if position == 0 else "") + name
        paper = f"{part['paper']} {part['unit'] if part['unit'] != 'x' else ''}".strip()
        lines.append((what.lstrip(": "), paper, text_of(part), number(part["ratio"]), part["verdict"]))
    return lines


def markdown(record: dict[str, Any]) -> str:
    """Write a scoreboard for people: counts, then a table per section."""
    commit = record["versions"].get("commit")
    ran = ", ".join(record["run_commits"]) or "(no run)"
    text = [
        f"# Scoreboard: {record['paper']}, level `{record['level']}`\n",
        f"`{' '.join(record['command'])}`, runs of commit {ran}, scored at {commit}, "
        f"{record['finished']}; hardware profile "
        f"`{record['hardware']}`. Verdicts: see [reproduction.md](../../../../docs/reproduction.md).\n",
        "## Predictions\n",
        _counts_table(record["counts"]["predict"]),
        f"\nCounted with others: {_counted_with(record)}.\n",
        "## Claims that may calibrate\n",
        _counts_table({"all": record["counts"]["calibrate"]["all"]}),
    ]
    for section in record["counts"]["predict"]:
        if section == "all":
            continue
        text.append(f"\n## {section.capitalize()}\n")
        text += ["| claim | what | paper | ours | ratio | verdict | matched on | reading |", "|---" * 8 + "|"]
        for claim in record["claims"]:
            if claim["section"] == section:
                text += _table_lines(claim)
    return "\n".join(text) + "\n"


def _counted_with(record: dict[str, Any]) -> str:
    others = record["shown_only"]["counted with others"]
    return ", ".join(f"{claim} with {' and '.join(with_)}" for claim, with_ in others.items()) or "none"


def _table_lines(claim: dict[str, Any]) -> list[str]:
    """The lines of a claim, what each number was matched on where the line does not say it, and the claim's reading."""
    lines = []
    for position, line in enumerate(lines_of(claim)):
        place = claim["parts"][position]["on"] if claim["parts"] else ""
        own = (claim["id"], claim["reading"]) if position == 0 else ("", "")
        cells = [own[0], *line, "" if any(place in cell for cell in line) else place, own[1]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _counts_table(counts: dict[str, dict[str, int]]) -> str:
    verdicts = list(next(iter(counts.values())))
    lines = [f"| section | {' | '.join(verdicts)} |", "|---" * (len(verdicts) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(str(row[v]) for v in verdicts)} |" for name, row in counts.items()]
    return "\n".join(lines)
