"""The one thing that pyproject.toml cannot say: a wheel also holds the experiments of the paper, which lie beside the
package so that they are easy to find in a checkout."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExperiments(build_py):
    """Copies ``experiments`` to ``riftsim/reproduction/experiments``; an editable install reads the checkout's."""

    def run(self):
        super().run()
        if not self.editable_mode:
            inside = Path(self.build_lib) / "riftsim" / "reproduction" / "experiments"
            shutil.copytree("experiments", inside, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithExperiments})
