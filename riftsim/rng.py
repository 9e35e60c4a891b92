"""Randomness: every draw is a function of a seed and a purpose, never of what was drawn before.

``stream(seed, purpose)`` gives an independent numpy generator per purpose (split, insertion order, training, arrivals),
so that adding a draw in one place changes nothing elsewhere.
"""

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator of one purpose.

    Parameters
    ----------
    seed : int
        Seed of the run.
    purpose : str
        What the numbers are for, e.g. ``"arrivals"``.

    Returns
    -------
    numpy.random.Generator
        A Philox generator keyed by the seed and the purpose.
    """
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    key = np.frombuffer(digest[:16], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
