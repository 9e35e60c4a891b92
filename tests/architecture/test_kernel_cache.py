"""The cache of compiled kernels notices an edit in another file, as numba alone would not, and outlives damage."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "riftsim"
CALLEE = "from riftsim.kernels._jit import kernel\n\n\n@kernel\ndef inner(x):\n    return x + {constant}\n"
CALLER = (
    "from riftsim.kernels._jit import kernel\nfrom riftsim.kernels.callee import inner\n\n\n"
    "@kernel\ndef outer(x):\n    return inner(x)\n"
)
CALL = (
    "import logging\nlogging.basicConfig(level=logging.INFO)\n{before}\n"
    "from riftsim.kernels import caller\nprint(caller.outer(1), sum(caller.outer.stats.cache_hits.values()))"
)
FULL = (
    "from numba.core.caching import IndexDataCacheFile\n"
    "def save(*arguments):\n    raise OSError(28, 'No space left on device')\n"
    "IndexDataCacheFile._save_data = save"
)


@pytest.fixture
def outcome(tmp_path):
    """Write two kernels, call them in a new process; what they return, and how many came from the cache."""
    kernels = tmp_path / "riftsim" / "kernels"
    kernels.mkdir(parents=True)
    shutil.copy(PACKAGE / "kernels" / "_jit.py", kernels)
    for package in (kernels.parent, kernels):
        (package / "__init__.py").touch()
    (kernels / "caller.py").write_text(CALLER, encoding="utf-8")

    def run(constant: int, before: str = "") -> tuple[int, int]:
        (kernels / "callee.py").write_text(CALLEE.format(constant=constant), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "RIFTSIM_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", CALL.format(before=before)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        run.said = done.stderr
        value, hits = map(int, done.stdout.split())
        return value, hits

    return run


def test_an_edit_in_another_file_is_noticed(tmp_path, outcome):
    assert outcome(10) == (11, 0)
    (folder,) = (tmp_path / "cache" / "kernels").iterdir()
    os.utime(folder, (0, 0))
    assert outcome(10) == (11, 1), "unchanged sources must come from the cache"
    assert folder.stat().st_mtime > 0, "use must renew the age by which caches are removed"
    assert outcome(20) == (21, 0), "an edited callee must not be served from the cache of its caller"


def test_a_compiled_kernel_is_loaded_without_what_only_compiling_needs(tmp_path):
    call = (
        "import sys\nfrom riftsim.kernels.prices import post_ps\n"
        "print(post_ps(2, 3, 4), sum(post_ps.stats.cache_hits.values()), 'numba.np.arraymath' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "RIFTSIM_CACHE_DIR": str(tmp_path)}
    for said in ("10 0 True", "10 1 False"):
        done = subprocess.run(
            [sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        assert done.stdout.strip() == said


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_truncated_cache_file_is_made_anew(tmp_path, outcome, suffix):
    outcome(10)
    files = list((tmp_path / "cache").rglob(f"*{suffix}"))
    assert files
    for path in files:
        os.truncate(path, path.stat().st_size // 2)
    assert outcome(10) == (11, 0)
    assert outcome(10) == (11, 1), "what was compiled anew must be in the cache again"


def test_compiling_is_announced_once_and_only_where_it_is_done(outcome):
    outcome(10)
    assert outcome.said.count("compiling kernels") == 1
    outcome(10)
    assert outcome.said == ""


def test_a_full_disk_keeps_nothing_and_stops_nothing(tmp_path, outcome):
    for _ in range(2):
        assert outcome(10, before=FULL) == (11, 0)
        assert outcome.said.count("compiled kernels cannot be kept (No space left on device)") == 1
        assert str(tmp_path / "cache") in outcome.said
    assert outcome(10) == (11, 0)
    assert outcome(10) == (11, 1)
