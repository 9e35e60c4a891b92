"""The command line with the fake engine in place of the simulator: ``python fake_riftsim.py run FILE ...``."""

import functools
import sys

from riftsim.cli import main
from riftsim.experiments import runner

ENGINE = runner.Engine("fake_engine:run_point", None)
runner.run_experiment = functools.partial(runner.run_experiment, engine=ENGINE)

if __name__ == "__main__":
    sys.exit(main())
