"""Simulated queries per CPU second: the SimPy engine, and the compiled one with and without recorded events.

    python benchmarks/simulation.py --data-dir DIR

RiftANN at about 400 expansions, window 8, 20-byte codes, impact gate and controller, the goal that the engines are
held against. The engines take turns; all give the same results. Beside them, the same index searched in local memory
with the same codes and list size, every read at once: what the search alone takes.
"""

from dataclasses import replace
from statistics import median

import msgspec
import numpy as np
from _peers import cpu_seconds, options, save, set_folder, show

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.index import load_configured_dataset, load_search_index
from riftsim.assembly.system import build_system, lay_out, search_context
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.computenode.drivers.local import run_local
from riftsim.computenode.drivers.sim import SimulatedCluster, run_simulated
from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.config.schema import ExperimentConfig
from riftsim.controller.fixed import Fixed
from riftsim.rdma.profiles import load_profile


def set_up(arguments):
    """Build what is simulated: cluster, system, the remote search that is its yardstick, and number of queries."""
    config = msgspec.convert(
        {
            "name": "benchmark",
            "dataset": {"name": arguments.set, "n": arguments.rows},
            "index": {"kind": "vamana", "R": 64, "L": 100},
            "search": {"k": 10, "L": arguments.list_size},
            "system": {"kind": "riftann", "window": 8},
        },
        ExperimentConfig,
    )
    store = ArtifactStore()
    dataset = load_configured_dataset(config, arguments.data_dir, store)
    index = load_search_index(config, dataset, store)
    region = lay_out(config, index, store)
    context = search_context(config, dataset, index, region, store)
    system = build_system(config, context)
    yardstick = build_system(
        msgspec.convert({**msgspec.to_builtins(config), "system": {"kind": "remote_vamana"}}, ExperimentConfig), context
    )
    profile = load_profile(config.hardware)
    cluster = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(profile.cpu, code_bytes=index.codec.code_bytes, vector_bytes=region.layout.vector_bytes),
        budget=CpuBudget(threads=config.cluster.threads),
        balancing=Balancing(Fixed()),
        compute_nodes=1,
        memory_nodes=1,
    )
    return replace(cluster, **system.cluster_changes), system, yardstick, len(dataset.queries)


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000, help="measured queries of a run (SimPy: a fifth)")
    parser.add_argument("--list-size", type=int, default=390, help="L; 390 gives about 400 expansions")
    parser.add_argument("--concurrency", type=int, default=32)
    arguments = parser.parse_args()
    set_folder(arguments)
    cluster, system, yardstick, queries = set_up(arguments)

    def run(engine, measured, **extra):
        load = {
            "queries": queries,
            "warmup": arguments.concurrency,
            "measured": measured,
            "concurrency": arguments.concurrency,
        }
        spent, outcome = cpu_seconds(lambda: engine(cluster, system.new_program, **load, **extra))
        searched = sum(run.end_ps >= 0 for run in outcome.runs) + 2 * arguments.concurrency  # ramps up and down
        return searched / spent, outcome

    def local(count):
        spent, _ = cpu_seconds(lambda: run_local(yardstick.new_program, range(count)))
        return count / spent

    few = max(1, arguments.queries // 5)
    engines = {
        "SimPy": lambda: run(run_simulated, few),
        "compiled": lambda: run(run_compiled, arguments.queries),
        "compiled, events recorded": lambda: run(run_compiled, arguments.queries, event_log=[]),
    }
    for engine in (run_simulated, run_compiled):
        run(engine, 1)  # compiles, or loads the compiled kernels
    local(1)
    rates = {name: [] for name in (*engines, "search alone")}
    expansions = events = 0.0
    for _ in range(arguments.repeats):
        for name, simulate in engines.items():
            rate, outcome = simulate()
            rates[name].append(rate)
            if name == "compiled":
                expansions = float(np.mean([each.answer.counts["expansions"] for each in outcome.runs]))
                events = outcome.facts["events"] / (arguments.queries + 2 * arguments.concurrency)
        rates["search alone"].append(local(min(arguments.queries, queries)))
    medians = {name: median(each) for name, each in rates.items()}
    show(
        ("", "queries/CPU s", "over SimPy", "of the search alone"),
        [[name, rate, rate / medians["SimPy"], rate / medians["search alone"]] for name, rate in medians.items()],
    )
    print(f"\n{expansions:.0f} expansions and {events:.0f} events per query, {arguments.concurrency} queries in flight")
    save(
        arguments.json,
        arguments,
        {"queries_per_cpu_s": medians, "runs": rates, "expansions": expansions, "events_per_query": events},
        None,
    )


if __name__ == "__main__":
    main()
