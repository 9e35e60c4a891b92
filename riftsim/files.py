"""Writing files so that a reader never sees a half of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path in the folder of ``path``; on success it becomes ``path``, on any error it is removed.

    Parameters
    ----------
    path : path-like
        The file to be written. Its folder is made if needed.

    Yields
    ------
    pathlib.Path
        Where to write.

    Raises
    ------
    OSError
        It cannot be written; names ``path``, also where the system names the temporary file or none.
    """
    target = Path(path)
    partial = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        os.close(handle)
        partial = Path(name)
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.chmod(0o666 & ~umask())
        partial.replace(target)
    except BaseException as error:
        if partial is not None:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and (error.filename is None or str(error.filename).endswith(".partial")):
            # Under the name that the user knows.
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        raise


def umask() -> int:
    """Return the permissions that the process withholds from new files."""
    current = os.umask(0)
    os.umask(current)
    return current
