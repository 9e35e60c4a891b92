#!/usr/bin/env bash
# Runs a command in a virtual machine that sees this machine's files and has a SoftRoCE device, rxe0.
#   scripts/rdma_vm.sh [OPTIONS] -- COMMAND [ARGUMENT...]        (--help lists the options)
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
command -v python3 >/dev/null || { echo "rdma_vm.sh: python3 is not there (Debian: apt-get install python3)" >&2; exit 2; }
exec python3 -B "$here/rdma_vm" "$@"
