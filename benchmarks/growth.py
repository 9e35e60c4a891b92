"""How the cost of a simulated query grows with vectors, queries in flight and compute nodes.

    python benchmarks/growth.py --data-dir DIR --set sift-photos-1m --sizes 10000,100000,1000000 --plot growth.svg

Each point is the CPU time of a simulated query over that of the plain search on the same vectors with the same list
size; the two take turns. The goal is that the dearest point is at most 1.3 times the cheapest along each axis.
"""

from _bench import median, options, save, set_folder, show
from _world import world

from riftsim.computenode.drivers.compiled import run_compiled

GOAL = 1.3


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000", help="numbers of vectors")
    parser.add_argument("--concurrency", default="1,8,32,128,512", help="queries in flight at one compute node")
    parser.add_argument("--compute-nodes", default="1,2,4,8", help="each with 32 queries in flight")
    parser.add_argument("--queries", type=int, default=600, help="measured queries of a run")
    parser.add_argument("--plot", help="where to draw it")
    arguments = parser.parse_args()
    sizes, in_flight, nodes = (
        [int(value) for value in text.split(",")]
        for text in (arguments.sizes, arguments.concurrency, arguments.compute_nodes)
    )
    for arguments.rows in sizes:
        set_folder(arguments)
    middle = min(sizes, key=lambda n: abs(n - 100_000))
    axes = {
        "vectors": [(n, 32, 1) for n in sizes],
        "queries in flight": [(middle, concurrency, 1) for concurrency in in_flight],
        "compute nodes": [(middle, 32, count) for count in nodes],
    }
    measured = {point: [] for points in axes.values() for point in points}
    worlds = {
        point: world(
            arguments.data_dir, arguments.set, point[0], compute_nodes=point[2], queries_per_thread=-(-point[1] // 32),
            queries=1000,
        )
        for point in measured
    }  # fmt: skip
    for point, simulated in worlds.items():
        simulated.simulate(run_compiled, 1, 1)
        simulated.search_alone(1)
        measured[point] = []
    for _ in range(arguments.repeats):
        for point, simulated in worlds.items():
            rate, _ = simulated.simulate(run_compiled, arguments.queries, point[1])
            measured[point].append({"qps": rate, "search_qps": simulated.search_alone(arguments.queries)})
    rows, results = [], {}
    for axis, points in axes.items():
        costs = {point: median(run["search_qps"] / run["qps"] for run in measured[point]) for point in points}
        results[axis] = [
            {"vectors": n, "in_flight": c, "compute_nodes": m, "cost": costs[n, c, m], "runs": measured[n, c, m]}
            for n, c, m in points
        ]
        spread = max(costs.values()) / min(costs.values())
        rows += [[axis, *point, 1e6 / median(r["qps"] for r in measured[point]), costs[point]] for point in points]
        rows.append([axis, "", "", "", "dearest / cheapest", spread])
    show(("axis", "vectors", "in flight", "compute nodes", "CPU us / query", "over the search alone"), rows)
    if arguments.plot:
        draw(results, arguments.plot)
    save(arguments, results)


def draw(results, path):
    """Draw cost over each axis."""
    from riftsim.plotting.style import PAGE_IN, new_panels

    figure, panels = new_panels(1, len(results), PAGE_IN, 2.0)
    keys = ("vectors", "in_flight", "compute_nodes")
    for panel, (axis, points), key in zip(panels, results.items(), keys, strict=True):
        values, costs = ([point[name] for point in points] for name in (key, "cost"))
        panel.plot(values, costs, marker="o")
        panel.set_xscale("log")
        panel.set_xticks(values, [_tick(value) for value in values])
        panel.minorticks_off()
        panel.set_xlabel(axis)
        panel.set_ylim(0, 1.1 * max(costs))
    panels[0].set_ylabel("cost of a simulated query\nover the search alone")
    figure.savefig(path)


def _tick(value):
    """A count as an axis has room for it."""
    return f"{value // 1_000_000} M" if value >= 1_000_000 else f"{value // 1000} K" if value >= 1000 else str(value)


if __name__ == "__main__":
    main()
