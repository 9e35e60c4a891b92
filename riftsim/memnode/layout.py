"""The record of one node at the memory node: its parts and their sizes.

A record is the exact vector, then a 4-byte degree and R 4-byte ids: of fixed length and without padding, so an offset
follows from the slot alone. With R = 96 and 128 uint8 values it has 516 bytes; 813 of them are the 410 KiB that RiftANN
reports for full records, and 813 vectors with 405 adjacency lists are its 255 KiB.
"""

from dataclasses import dataclass

import numpy as np

from riftsim.errors import ConfigError

DEGREE_BYTES = 4
ID_BYTES = 4
NO_ID = 0xFFFFFFFF
"""What fills the places after a node's last neighbour."""


@dataclass(frozen=True)
class RecordLayout:
    """Sizes and places within one record.

    Parameters
    ----------
    dimension : int
        Of the vectors.
    dtype : numpy dtype
        uint8, int8 or float32.
    degree : int
        Places for neighbours (R).
    """

    dimension: int
    dtype: np.dtype
    degree: int

    def __post_init__(self):
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.dtype not in (np.uint8, np.int8, np.float32):
            raise ConfigError(f"record layout: found {self.dtype} vectors, expected uint8, int8 or float32")
        if self.dimension < 1 or self.degree < 1:
            found = f"dimension {self.dimension} and degree {self.degree}"
            raise ConfigError(f"record layout: found {found}, expected both to be at least 1")

    @property
    def vector_bytes(self) -> int:
        """Bytes of the exact vector."""
        return self.dimension * self.dtype.itemsize

    @property
    def adjacency_bytes(self) -> int:
        """Bytes of degree and ids."""
        return DEGREE_BYTES + ID_BYTES * self.degree

    @property
    def record_bytes(self) -> int:
        """Bytes of the whole record."""
        return self.vector_bytes + self.adjacency_bytes
