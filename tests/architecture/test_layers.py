"""The walls of the package: who may import whom, who may touch numba and pyverbs, and how long a module may be."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "riftsim"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 400
LONGER_FOR_A_REASON: dict[str, str] = {}
"""Module to the reason why it is one subject that does not fit into `MAX_LINES`."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports_of(path: Path) -> Iterator[str]:
    """Yield the top-level packages that a module imports anywhere, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_imports_point_downwards_only():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("numba", "riftsim/kernels/"),
        ("llvmlite", ("riftsim/kernels/", "riftsim/doctor.py")),
        ("pyverbs", "riftsim/rdma/verbs.py"),
    ],
)
def test_only_one_place_imports(package, allowed):
    elsewhere = [
        name_of(path) for path in MODULES if package in imports_of(path) and not name_of(path).startswith(allowed)
    ]
    assert elsewhere == []


def test_modules_are_short():
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    too_long = {name: lines for name, lines in lengths.items() if lines > MAX_LINES and name not in LONGER_FOR_A_REASON}
    assert too_long == {}
    needless = [name for name in LONGER_FOR_A_REASON if lengths.get(name, 0) <= MAX_LINES]
    assert needless == [], "no longer too long: take it off the list"


def undocumented(body: list[ast.stmt], prefix: str = "", inherits: bool = False) -> Iterator[str]:
    """Yield public functions, classes and methods without a docstring; a method may inherit that of a base class."""
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        is_class = isinstance(node, ast.ClassDef)
        if not ast.get_docstring(node) and (is_class or not (inherits or is_plain_property(node))):
            yield f"{prefix}{node.name}"
        if is_class:
            yield from undocumented(node.body, f"{prefix}{node.name}.", bool(node.bases))


def is_plain_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is a property whose one line says what it is."""
    return len(node.body) == 1 and any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)


def test_every_module_and_public_name_has_a_docstring():
    missing = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if tree.body and not ast.get_docstring(tree):
            missing.append(name_of(path))
        if any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(PACKAGE).parts):
            continue
        missing += [f"{name_of(path)}: {name}" for name in undocumented(tree.body)]
    assert missing == []
