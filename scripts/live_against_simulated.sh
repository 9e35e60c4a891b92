#!/usr/bin/env bash
# Measures a hardware profile and runs searches live in the virtual machine, whose time passes by instructions; then
# simulates the same queries with this profile and compares (docs/live_rdma.md).
#   scripts/live_against_simulated.sh PYTHON [FOLDER]      (default: results/live; it must not exist)
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
folder=${2:-results/live}
experiment=scripts/live_against_simulated.yaml
mkdir -p "$(dirname "$folder")"
mkdir "$folder"

# Kernels, graph and codes are made here, for the guest's processor: emulated, it would take many minutes.
export NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES=+avx2,+fma
"$python" tests/helpers/live_experiments.py
"$python" -c "from riftsim.computenode.cpu_probe import cpu_figures; cpu_figures(1)"
"$python" -m riftsim run "$experiment" --set driver.kind=local --set load.concurrency=1 --out "$folder/local" --no-plots

in_the_guest="
set -e
$python -m riftsim calibrate --codes-mib 2 --samples 100 --out $folder/rxe.yaml
$python -m riftsim memnode serve $experiment --listen 127.0.0.1:7471 \
    --set load.concurrency=1 --set 'system={kind: remote_vamana}' >$folder/memnode.log &
until grep -q listening $folder/memnode.log; do kill -0 \$! && sleep 0.2; done
$python -m riftsim run $experiment --out $folder/runs --no-plots
kill \$!
wait \$!
"
scripts/rdma_vm.sh --clock instructions --time-limit "${RIFTSIM_RDMA_LIMIT:-3600}" --writable "$folder" -- \
    bash -c "$in_the_guest"
unset NUMBA_CPU_NAME NUMBA_CPU_FEATURES
"$python" -m riftsim compare-live "$folder/runs" --hardware "$folder/rxe.yaml" --out "$folder/compared"
