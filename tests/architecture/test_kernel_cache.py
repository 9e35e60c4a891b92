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
CALL = "from riftsim.kernels import caller\nprint(caller.outer(1), sum(caller.outer.stats.cache_hits.values()))"


@pytest.fixture
def outcome(tmp_path):
    """Write two kernels, call them in a new process; what they return, and how many came from the cache."""
    kernels = tmp_path / "riftsim" / "kernels"
    kernels.mkdir(parents=True)
    shutil.copy(PACKAGE / "kernels" / "_jit.py", kernels)
    for package in (kernels.parent, kernels):
        (package / "__init__.py").touch()
    (kernels / "caller.py").write_text(CALLER, encoding="utf-8")

    def run(constant: int) -> tuple[int, int]:
        (kernels / "callee.py").write_text(CALLEE.format(constant=constant), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "RIFTSIM_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
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
