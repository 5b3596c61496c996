#!/usr/bin/env bash
# The tests of the Python package, by a python3 that has matplotlib if there is one: without it, those that draw are
# skipped, and the last lines say so. Those of the simulator run the command that is the argument.
set -euo pipefail
if [[ -n ${1:-} ]]; then DCGN_COMMAND=$(realpath "$1") && export DCGN_COMMAND; fi
cd "$(dirname "$0")/../../python"
python=$(command -v python3 || true)
for candidate in "$python" /usr/bin/python3; do
  if [[ -x $candidate ]] && "$candidate" -c 'import matplotlib' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]]; then
  echo "no python3: nothing is tested"
  exit 0
fi
echo "$python"
PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1 exec "$python" -m unittest discover -s tests
