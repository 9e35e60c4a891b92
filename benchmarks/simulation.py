"""Simulated queries per CPU second: two models in SimPy, riftsim's SimPy engine, and the compiled engine.

    python benchmarks/simulation.py --data-dir DIR

RiftANN at about 400 expansions, window 8, 20-byte codes, impact gate and controller, the goal that the engines are
held against. They take turns. riftsim's two engines give the same results; the models are the same cluster as one would
first write it, in SimPy processes (``_idiomatic.py``), and for speed, in bare events (``_lean.py``). Beside them, the
same index searched in local memory with the same codes and list size, every read at once: what the search alone takes.
"""

import numpy as np
from _bench import cpu_seconds, median, options, save, set_folder, show
from _idiomatic import IdiomaticCluster
from _lean import LeanCluster
from _world import simulated_queries, world

from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.computenode.drivers.sim import run_simulated

GOAL = 0.32
"""Of the search alone, where the core is not that of the paper's machine."""


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000, help="measured queries of a run (SimPy: a fifth)")
    parser.add_argument("--concurrency", type=int, default=32)
    arguments = parser.parse_args()
    set_folder(arguments)
    simulated = world(arguments.data_dir, arguments.set, arguments.rows)
    concurrency, few = arguments.concurrency, max(1, arguments.queries // 5)

    def modelled(kind):
        model = kind(simulated.cluster, simulated.system.new_program)
        spent, _ = cpu_seconds(lambda: model.run(simulated.queries, few + concurrency, concurrency))
        return len(model.latencies_ps) / spent

    events = expansions = 0.0

    def compiled(**extra):
        nonlocal events, expansions
        rate, outcome = simulated.simulate(run_compiled, arguments.queries, concurrency, **extra)
        events = outcome.facts["events"] / simulated_queries(outcome)
        expansions = float(np.mean([run.answer.counts["expansions"] for run in outcome.runs]))
        return rate

    rounds = {
        "SimPy processes": lambda: modelled(IdiomaticCluster),
        "lean SimPy": lambda: modelled(LeanCluster),
        "SimPy engine": lambda: simulated.simulate(run_simulated, few, concurrency)[0],
        "compiled": compiled,
        "compiled, events recorded": lambda: compiled(event_log=[]),
        "compiled, every query traced": lambda: compiled(traced=range(concurrency, concurrency + arguments.queries)),
        "search alone": lambda: simulated.search_alone(min(arguments.queries, simulated.queries)),
    }
    for engine in (run_simulated, run_compiled):
        simulated.simulate(engine, 1, 1)  # compiles, or loads the compiled kernels
    simulated.search_alone(1)
    rates = {name: [] for name in rounds}
    for _ in range(arguments.repeats):
        for name, measure in rounds.items():
            rates[name].append(measure())

    def ratio(name, other):
        return median(a / b for a, b in zip(rates[name], rates[other], strict=True))

    results = {
        name: {
            "qps": median(each),
            "runs": each,
            "over_lean_simpy": ratio(name, "lean SimPy"),
            "of_the_search_alone": ratio(name, "search alone"),
        }
        for name, each in rates.items()
    }
    show(
        ("", "queries / CPU s", "over lean SimPy", "of the search alone"),
        [[name, *(row[key] for key in row if key != "runs")] for name, row in results.items()],
    )
    print(f"\n{expansions:.0f} expansions and {events:.0f} events per query, {concurrency} queries in flight")
    save(arguments, {"rates": results, "expansions": expansions, "events_per_query": events})


if __name__ == "__main__":
    main()
