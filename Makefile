# Two commands for a fresh machine with python3, venv and make:  make run   and   make test

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -rs -n $(JOBS)

.PHONY: help install run test test-all test-rdma test-rdma-all smoke lint format clean

help:
	@echo "make run       install into $(VENV) if needed, run the quick start, print its table and figures"
	@echo "make test      the default tests (under five minutes on two cores)"
	@echo "make test-all  the slow and soak tests as well"
	@echo "make test-rdma the tests on an RDMA device: this machine's, else one in a virtual machine (docs/live_rdma.md);"
	@echo "               make test-rdma-all adds the slow and soak ones"
	@echo "make smoke     every experiment of the paper on a few thousand vectors, and the scoreboard (under two minutes)"
	@echo "make lint      ruff and the import contracts"
	@echo "make format    let ruff format the code"

install: $(STAMP)

# The stamp makes a second call quick; a change of pyproject.toml installs again.
$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) is not there: install Python 3.11 or newer (Debian/Ubuntu: sudo apt install python3 python3-venv)," \
		     "or name one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is $$($(PYTHON) --version): riftsim needs Python 3.11 or newer;" \
		     "name another: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments (Debian/Ubuntu: sudo apt install python3-venv)" >&2; exit 1; }
	@echo "installing into $(VENV) (once; some hundred megabytes of Python packages)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

run: $(STAMP)
	$(BIN)/riftsim run configs/quickstart.yaml --jobs $(JOBS)

test: $(STAMP)
	$(PYTEST) -m "not slow and not soak and not vm"

test-all: $(STAMP)
	$(PYTEST) -m "not vm"

# Without an RDMA device the tests marked rdma are skipped above, with the reason; here they must run.
test-rdma: $(STAMP)
	scripts/test_rdma.sh $(BIN)/python -m "rdma and not slow and not soak"
	$(BIN)/python -m pytest -m vm tests/vm

test-rdma-all: $(STAMP)
	RIFTSIM_RDMA_LIMIT=$${RIFTSIM_RDMA_LIMIT:-3600} scripts/test_rdma.sh $(BIN)/python -m rdma
	$(BIN)/python -m pytest -m vm tests/vm

# In one process: its runs are shorter than it takes to start another.
smoke: $(STAMP)
	$(BIN)/riftsim reproduce --smoke --jobs 1 --out results/smoke

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis
