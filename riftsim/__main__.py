"""``python -m riftsim``: the same as ``riftsim``."""

import sys

from riftsim.cli import main

if __name__ == "__main__":
    sys.exit(main())
