"""Arrays as kernels take them: flat, contiguous, and of one numba type whether or not numpy may write to them."""

import numpy as np


class _Memory:
    """Array interface over the memory of another array, which it keeps alive."""

    def __init__(self, array: np.ndarray):
        self.owner = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def flat_view(array: np.ndarray) -> np.ndarray:
    """View a C-contiguous array (also a read-only memory map) as 1-D, without a copy.

    numba compiles a kernel anew for read-only arrays. The view is therefore typed as writable; kernels write only to
    arrays that they document as outputs, and a write to a read-only map would crash.

    Parameters
    ----------
    array : numpy.ndarray
        C-contiguous, any shape.

    Returns
    -------
    numpy.ndarray
        Same dtype, shape ``(array.size,)``.

    Raises
    ------
    ValueError
        If the array is not C-contiguous.
    """
    if not array.flags.c_contiguous:
        raise ValueError(f"a flat view needs a C-contiguous array, found strides {array.strides} for {array.shape}")
    if array.flags.writeable:
        return np.asarray(array).reshape(-1)
    if array.size == 0:
        return np.empty(0, dtype=array.dtype)
    return np.asarray(_Memory(np.asarray(array))).reshape(-1)
