"""Sessions over Python versions: ``nox`` tests every supported one that is installed."""

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the default tests."""
    session.install(".[dev]")
    session.run("pytest", "-n", "2", "-m", "not slow and not soak and not vm", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff and the import contracts."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def package(session: nox.Session) -> None:
    """Build the wheel and run the quick start from it alone, outside the checkout."""
    session.install("build")
    folder = session.create_tmp()
    session.run("python", "-m", "build", "--wheel", "--outdir", folder)
    session.chdir(folder)
    session.run("sh", "-c", "python -m pip install --quiet riftsim-*.whl", external=True)
    session.run("riftsim", "run", "quickstart", "--out", "runs")
