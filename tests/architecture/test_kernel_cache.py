"""A kernel that is edited in another file is compiled anew: numba alone would go on with the old one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "riftsim"
CALLEE = "from riftsim.kernels._jit import kernel\n\n\n@kernel\ndef inner(x):\n    return x + {constant}\n"
CALLER = (
    "from riftsim.kernels._jit import kernel\nfrom riftsim.kernels.callee import inner\n\n\n"
    "@kernel\ndef outer(x):\n    return inner(x)\n"
)
CALL = "from riftsim.kernels import caller\nprint(caller.outer(1), sum(caller.outer.stats.cache_hits.values()))"


def test_an_edit_in_another_file_is_noticed(tmp_path):
    kernels = tmp_path / "riftsim" / "kernels"
    kernels.mkdir(parents=True)
    shutil.copy(PACKAGE / "kernels" / "_jit.py", kernels)
    for package in (kernels.parent, kernels):
        (package / "__init__.py").touch()
    (kernels / "caller.py").write_text(CALLER, encoding="utf-8")

    def outcome(constant: int) -> tuple[int, int]:
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

    assert outcome(10) == (11, 0)
    assert outcome(10) == (11, 1), "unchanged sources must come from the cache"
    assert outcome(20) == (21, 0), "an edited callee must not be served from the cache of its caller"
