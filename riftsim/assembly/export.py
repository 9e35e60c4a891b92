"""An index as the files of DiskANN's on-disk search: sectors, product quantiser, codes, metadata."""

import os

from riftsim.assembly.index import SearchIndex
from riftsim.errors import ConfigError
from riftsim.index.diskann_disk_io import write_disk_index
from riftsim.index.diskann_io import write_metadata
from riftsim.quantize.diskann_pq import write_codec, write_codes
from riftsim.quantize.pq import ProductCodec


def export_disk_index(index: SearchIndex, prefix: str | os.PathLike, metric: str) -> None:
    """Write ``prefix_disk.index``, ``_pq_pivots.bin``, ``_pq_compressed.bin`` and ``_metadata.bin``.

    Parameters
    ----------
    index : SearchIndex
        With a product quantiser, and no rows that only route.
    prefix : path-like
        Folder and beginning of the names; the folder is made if needed.
    metric : str
        Of the data set.

    Raises
    ------
    ConfigError
        If the tool could not search such an index: names what stands against it.
    """
    if metric != "l2":
        raise ConfigError(f"a disk index of metric '{metric}': expected 'l2'; the tool prepares vectors of the others")
    if not isinstance(index.codec, ProductCodec):
        raise ConfigError(f"codes: found {type(index.codec).__name__}, expected a product quantiser (kind: pq)")
    if len(index.hidden):
        raise ConfigError(f"index: found {int(index.hidden.sum())} rows that only route, expected none")
    prefix = os.fspath(prefix)
    write_disk_index(f"{prefix}_disk.index", index.graph, index.vectors)
    write_codec(index.codec, f"{prefix}_pq_pivots.bin")
    write_codes(index.codes, f"{prefix}_pq_compressed.bin")
    write_metadata(prefix, index.vectors.dtype, metric, *index.vectors.shape)
