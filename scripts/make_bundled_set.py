#!/usr/bin/env python3
"""Cut the bundled set sift-photos-10k out of sift-photos-100k.

The first 10,000 base rows stay as they are. Query and calibration file come from different images; they are pooled and
split at random, so that the 1,000 evaluated and 500 calibration queries of the bundled set are exchangeable.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from riftsim.errors import RiftsimError
from riftsim.workload.datasets import load_dataset
from riftsim.workload.publish import publish_dataset

ROWS, QUERIES, CALIBRATION, SPLIT_SEED = 10_000, 1_000, 500, 0


def main() -> int:
    """Cut the set; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="sift-photos-100k", help="data-set name or file to cut from")
    parser.add_argument("--data-dir", help="folder that holds the source (default: RIFTSIM_DATA_DIR)")
    parser.add_argument("--out", required=True, type=Path, help="folder to write, e.g. riftsim/data/sift-photos-10k")
    arguments = parser.parse_args()
    try:
        source = load_dataset(arguments.source, n=ROWS, split_seed=SPLIT_SEED, data_dir=arguments.data_dir)
        pool = np.concatenate([source.calibration, source.queries])
        spec = publish_dataset(
            arguments.out,
            "sift-photos-10k",
            f"First {ROWS:,} base vectors of sift-photos-100k; {QUERIES:,} query and {CALIBRATION} calibration vectors "
            f"drawn at random from its pooled queries",
            "descriptors computed from freely licensed photographs, see NOTICE beside the files",
            {"base": source.base, "query": pool[CALIBRATION : CALIBRATION + QUERIES], "calib": pool[:CALIBRATION]},
            "uint8",
            [ROWS],
            calibration=CALIBRATION,
            say=print,
        )
    except RiftsimError as error:
        print(f"make_bundled_set: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.out}: {spec.name}, move its .yaml to riftsim/configs/datasets/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
