#!/usr/bin/env python3
"""Make docs/performance.md of the figures that benchmarks/all.py has left in benchmarks/measured."""

import json
from pathlib import Path
from statistics import median

from riftsim.files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "benchmarks" / "measured"
PAGE = ROOT / "docs" / "performance.md"
BENCHMARKS = ("simulation", "growth", "startup", "processes", "search", "build", "large")
NOTES = ROOT / "benchmarks" / "where_time_goes.md"


def table(header, rows):
    """Lines of a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(str(cell) for cell in line)} |" for line in lines]


def number(value, digits=3):
    """A number with so many digits that count."""
    if value >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def spread(runs):
    """Least and largest of several runs."""
    return f"{number(min(runs))} to {number(max(runs))}"


def verdict(value, least, unit="x"):
    """Whether a budget is met, with what was measured."""
    return f"{number(value)} {unit}".strip(), "met" if value >= least else "**missed**"


def budgets(found):
    """Rows of the table of budgets; what was not measured is left out."""
    rows = []

    def row(what, goal, value, met):
        rows.append([what, goal, value, met])

    if "simulation" in found:
        rates = found["simulation"]["results"]["rates"]
        compiled = rates["compiled"]
        row("compiled over lean SimPy", "6 x", *verdict(compiled["over_lean_simpy"], 6))
        share = compiled["of_the_search_alone"]
        row("compiled, of the search alone", "0.32 x (800/s on a Zen 5 core)", *verdict(share, 0.32))
        for what, name in (
            ("cost of recorded events", "compiled, events recorded"),
            ("cost of tracing every query", "compiled, every query traced"),
        ):
            if name in rates:
                cost = median(a / b - 1 for a, b in zip(compiled["runs"], rates[name]["runs"], strict=True))
                row(what, "30 %", f"{100 * cost:.0f} %", "met" if cost < 0.3 else "**missed**")
    if "search" in found:
        for library, least in (("diskannpy", 2.3), ("svs", 1.0)):
            for target in ("0.95", "0.99"):
                at = found["search"]["results"].get(library, {}).get("at", {}).get(target)
                if at:
                    row(f"search over {library} at {target}", f"{least} x", *verdict(at["riftsim_over_it"], least))
    for each in found.get("build", {}).get("results", ()):
        if each["library"] == "diskannpy":
            ratio = each["riftsim_over_it"]
            row("build, CPU time of diskannpy's", "0.5 x", f"{ratio:.2f} x", "met" if ratio <= 0.5 else "**missed**")
    if "processes" in found:
        row("two processes over one", "1.8 x", *verdict(found["processes"]["results"]["ratio"], 1.8))
    if "startup" in found:
        wall_s, cpu_s = (median(run[key] for run in found["startup"]["results"]["warm"]) for key in ("wall_s", "cpu_s"))
        value = f"{wall_s:.2f} s, {cpu_s:.2f} s of them CPU time"
        row("new process to first query", "1 s", value, "met" if wall_s < 1 else "**missed**")
    for axis, points in found.get("growth", {}).get("results", {}).items():
        costs = [point["cost"] for point in points]
        ratio = max(costs) / min(costs)
        row(f"growth with {axis}", "1.3 x", f"{ratio:.2f} x", "met" if ratio <= 1.3 else "**missed**")
    if "large" in found:
        peak, goal = (found["large"]["results"][key] for key in ("peak_gib", "goal_gib"))
        rows_of = f"{found['large']['options']['rows']:,} vectors"
        row(f"peak memory with {rows_of}", f"{goal:.1f} GiB", f"{peak:.1f} GiB", "met" if peak < goal else "**missed**")
    return rows


def sections(found):
    """Lines of the sections, one for each benchmark that was run."""
    lines = []
    if "simulation" in found:
        results = found["simulation"]["results"]
        lines += [
            "## Simulating", "",
            f"RiftANN, {found['simulation']['options']['rows']:,} vectors, {results['expansions']:.0f} expansions and "
            f"{results['events_per_query']:.0f} events per query, 32 queries in flight. The search alone is the same "
            "index searched in local memory with the same codes and list size. SimPy processes and lean SimPy are "
            "models of the same cluster in a hundred lines each, without the engines' order of events.", "",
            *table(
                ["", "queries per CPU second", "runs", "over lean SimPy", "of the search alone"],
                [
                    [name, number(row["qps"]), spread(row["runs"]), number(row["over_lean_simpy"]),
                     number(row["of_the_search_alone"])]
                    for name, row in results["rates"].items()
                ],
            ), "",
        ]  # fmt: skip
    if "growth" in found:
        rows = [
            [axis, f"{point['vectors']:,}", point["in_flight"], point["compute_nodes"],
             number(1e6 / median(run["qps"] for run in point["runs"])), f"{point['cost']:.2f}"]
            for axis, points in found["growth"]["results"].items()
            for point in points
        ]  # fmt: skip
        header = ["axis", "vectors", "in flight", "compute nodes", "CPU us per query", "over the search alone"]
        lines += ["## Growth", "", "![cost of a simulated query](growth.svg)", "", *table(header, rows), ""]
    if "startup" in found:
        rows = [
            [name, *(f"{median(run[key] for run in runs):.2f}" for key in ("wall_s", "cpu_s"))]
            for name, runs in found["startup"]["results"].items()
        ]
        lines += ["## New process to first simulated query", "", *table(["caches", "wall s", "CPU s"], rows), ""]
    if "processes" in found:
        results = found["processes"]["results"]
        rows = [
            [count, number(median(results[name])), spread(results[name])] for count, name in ((1, "one"), (2, "two"))
        ]
        lines += ["## Two processes", "", *table(["processes", "queries per second", "runs"], rows), ""]
    if "search" in found:
        targets = ("0.9", "0.95", "0.99")
        rows = []
        for library, result in found["search"]["results"].items():
            at = [result["at"].get(target) for target in targets]
            cells = [f"{number(x['qps'])} ({x['riftsim_over_it']:.2f})" if x else "not reached" for x in at]
            rows.append([library, found["search"]["versions"].get(library, ""), *cells])
        lines += [
            "## Searching in memory", "",
            "Queries per CPU second at equal recall@10, in brackets riftsim's rate over it; each on the index that it "
            "built (R=64, L=100; HNSW M=32, efConstruction=100).", "",
            *table(["library", "version", *(f"recall {target}" for target in targets)], rows), "",
        ]  # fmt: skip
    if "build" in found:
        rows = [
            [each["library"], found["build"]["versions"].get(each["library"], ""), each["R"], each["L"],
             number(median(each["cpu_s"])), f"{each['riftsim_over_it']:.2f}", number(each["memory_mib"]),
             *(f"{value:.4f}" for value in each["recall"])]
            for each in found["build"]["results"]
        ]  # fmt: skip
        lists = [f"recall@10, L={L}" for L in found["build"]["results"][0]["search_L"]]
        header = ["library", "version", "R", "L", "CPU s", "riftsim's over it", "MiB more", *lists]
        lines += ["## Building", "", *table(header, rows), ""]
    if "large" in found:
        options, results = found["large"]["options"], found["large"]["results"]
        rows = [
            [step["step"], number(step["cpu_s"]), f"{step['private_gib']:.2f}", f"{step['peak_gib']:.2f}"]
            for step in results["steps"]
        ]
        lists = "drawn at random" if options["graph"] == "random" else f"of a Vamana graph (L={options['build_list']})"
        lines += [
            "## Ten million vectors", "",
            f"{options['rows']:,} generated vectors of {options['dimension']} bytes, lists of {options['degree']} "
            f"neighbours {lists}, vectors and records mapped from disk, {options['concurrency']} queries in flight at "
            f"{number(results['qps'])} simulated queries per CPU second. Private memory is what was left after each "
            "step; the peak counts pages of files as well, which the system may take back.", "",
            *table(["step", "CPU s", "private GiB", "peak GiB so far"], rows), "",
        ]  # fmt: skip
    return lines


def page() -> str:
    """Text of the page."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(MEASURED.glob("*.json"))}
    machine = next(iter(found.values()))["machine"]
    loads = [each["machine"]["load_average"] for each in found.values()]
    busy = max(loads) > machine["processors"]
    missing = [f"`{name}.py`" for name in BENCHMARKS if name not in found]
    missing += [f"{library} in `{name}.py`" for name, each in found.items() for library in each.get("failed", ())]
    lines = [
        "# Performance", "",
        "Made by `scripts/update_performance_page.py` from `benchmarks/measured`, which `benchmarks/all.py` writes. "
        "Figures are medians of runs that take turns; ratios are medians of the ratios within each turn; one thread "
        "unless said. CPU time is that of all threads of a process.", "",
        f"Machine: {machine['cpu']}, {machine['processors']} processors, Python {machine['python']}; "
        f"{min(loads):.1f} to {max(loads):.1f} processes running or waiting while it was measured"
        + (": **it was busy**, so absolute times are too long and ratios uncertain." if busy else "."),
        *(["", f"Not measured in this go: {', '.join(missing)}."] if missing else []),
        "", "## Budgets", "",
        *table(["what", "goal", "measured", ""], budgets(found)), "",
        *sections(found),
        NOTES.read_text(encoding="utf-8").rstrip(),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main():
    """Write the page."""
    with atomic_write(PAGE) as partial:
        partial.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
