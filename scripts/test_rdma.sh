#!/usr/bin/env bash
# Runs the tests that need an RDMA device, on this machine if it has one, else in virtual machines; then those of the
# virtual machine itself.
#   scripts/test_rdma.sh PYTHON [PYTEST ARGUMENT...]
# Nothing is skipped silently: where neither is possible it says why and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
shift

of_the_machine() {
    "$python" -m pytest -m vm tests/vm
}
guest() {
    scripts/rdma_vm.sh --time-limit "${RIFTSIM_RDMA_LIMIT:-900}" -- "$python" -m pytest -p no:cacheprovider "$@"
}

"$python" scripts/link_pyverbs.py
export RIFTSIM_RDMA=required
if compgen -G "/sys/class/infiniband/*" >/dev/null; then
    "$python" -m pytest tests/rdma "$@"
    of_the_machine
    exit
fi
# Kernels, graph and codes of the tests' experiment are made here, where that is ten times as fast.
NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES=+avx2,+fma "$python" tests/helpers/live_experiments.py
echo "this machine has no RDMA device: booting two that have (scripts/rdma_vm.sh), for searches and for the rest"
searches=tests/rdma/test_live_search.py
output=$(mktemp)
guest "$searches" "$@" >"$output" 2>&1 &
first=$!
trap 'kill "$first" 2>/dev/null || true; rm -f "$output"' EXIT
code=0
guest tests/rdma --ignore "$searches" "$@" || code=$?
of_the_machine || code=$?
wait "$first" || code=$?
echo "the searches ($searches):"
cat "$output"
exit "$code"
