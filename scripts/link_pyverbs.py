"""Lets the environment that runs this script import the distribution's pyverbs (a link in its site-packages).

    .venv/bin/python scripts/link_pyverbs.py

pyverbs belongs to the system's rdma-core and is compiled for one minor version of Python: the distribution's package
is the one that fits, and this environment must have the same minor version.
"""

import importlib.machinery
import importlib.util
import sys
import sysconfig
from pathlib import Path

DISTRIBUTION = Path("/usr/lib/python3/dist-packages/pyverbs")


def main() -> None:
    """Make the link, or end with the reason why not."""
    if sys.prefix == sys.base_prefix:
        sys.exit("link_pyverbs: found the system's Python, expected that of a virtual environment (.venv/bin/python)")
    if importlib.util.find_spec("pyverbs"):
        return
    if not DISTRIBUTION.is_dir():
        sys.exit(f"link_pyverbs: there is no {DISTRIBUTION} (Debian/Ubuntu: apt-get install python3-pyverbs)")
    if not any((DISTRIBUTION / f"device{suffix}").exists() for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        built = sorted(path.name for path in DISTRIBUTION.glob("device.*.so"))
        sys.exit(
            f"link_pyverbs: found {', '.join(built) or 'no compiled module'} in {DISTRIBUTION}, expected one for "
            f"Python {sys.version_info.major}.{sys.version_info.minor}; make the environment with the system's Python "
            "(make PYTHON=/usr/bin/python3 VENV=.venv-rdma ...)"
        )
    link = Path(sysconfig.get_paths()["platlib"]) / "pyverbs"
    link.symlink_to(DISTRIBUTION)
    print(f"linked {link} to {DISTRIBUTION}")


if __name__ == "__main__":
    main()
