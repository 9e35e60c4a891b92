"""What two processes simulate over what one does, by the clock on the wall.

    python benchmarks/processes.py --data-dir DIR

As with ``--jobs 2``: each process has its own simulation; vectors, graph and codes come from the same cache.
"""

import subprocess
import sys
import time

from _bench import median, options, save, set_folder, show


def serve(arguments):
    """Simulate each time that a line comes in."""
    from _world import simulated_queries, world

    from riftsim.computenode.drivers.compiled import run_compiled

    simulated = world(arguments.data_dir, arguments.set, arguments.rows)
    simulated.simulate(run_compiled, 1, 1)
    print("ready", flush=True)
    for _ in sys.stdin:
        _, outcome = simulated.simulate(run_compiled, arguments.queries, 32)
        print(simulated_queries(outcome), flush=True)


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=600, help="measured queries of a run")
    parser.add_argument("--worker", action="store_true", help="be one of the processes")
    arguments = parser.parse_args()
    set_folder(arguments)
    if arguments.worker:
        serve(arguments)
        return
    command = [sys.executable, __file__, *sys.argv[1:], "--worker"]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for worker in workers:
        worker.stdout.readline()
    rates = {1: [], 2: []}
    for _ in range(arguments.repeats):
        for count, runs in rates.items():
            began = time.perf_counter()
            for worker in workers[:count]:
                worker.stdin.write("\n")
                worker.stdin.flush()
            queries = sum(float(worker.stdout.readline()) for worker in workers[:count])
            runs.append(queries / (time.perf_counter() - began))
    for worker in workers:
        worker.communicate()
    ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    show(
        ("processes", "queries / s", "over one"),
        [[1, median(rates[1]), 1.0], [2, median(rates[2]), median(ratios)]],
    )
    save(arguments, {"one": rates[1], "two": rates[2], "ratios": ratios, "ratio": median(ratios)})


if __name__ == "__main__":
    main()
