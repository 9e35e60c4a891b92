#!/usr/bin/env bash
# Runs the tests that need an RDMA device: on this machine if it has one, else in the virtual machine.
#   scripts/test_rdma.sh PYTHON [PYTEST ARGUMENT...]
# Nothing is skipped silently: where neither is possible it says why and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
shift

"$python" scripts/link_pyverbs.py
export RIFTSIM_RDMA=required
if compgen -G "/sys/class/infiniband/*" >/dev/null; then
    exec "$python" -m pytest tests/rdma "$@"
fi
# Kernels, graph and codes of the tests' experiment are made here, where that is ten times as fast.
NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES=+avx2,+fma "$python" tests/helpers/live_experiments.py
echo "this machine has no RDMA device: booting one that has (scripts/rdma_vm.sh)"
exec scripts/rdma_vm.sh --time-limit "${RIFTSIM_RDMA_LIMIT:-900}" -- "$python" -m pytest -p no:cacheprovider tests/rdma "$@"
