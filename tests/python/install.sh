#!/usr/bin/env bash
# pip install of these sources in a fresh venv, by the python that is the argument; then the script of the issue that asked
# for it, alone and by mpirun: two CPU ranks and four emulated slots in each process.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$source_tree"
cd "$work" # away from the sources
export DCGN_EMULATED_GPUS=4 XDG_CACHE_HOME=$work/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
script=$source_tree/examples/python/03_kernel.py
check() {
  echo "$*: $("$@")"
  "$@" | grep -qx "$want"
}
want="the sum of 4 squares is 54" check venv/bin/python "$script"
if command -v mpirun >/dev/null; then
  want="the sum of 8 squares is 420" check mpirun -n 2 venv/bin/python "$script"
fi
