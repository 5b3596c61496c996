#!/usr/bin/env bash
# Explores a model whole, and with each of its faults: check.sh MODEL FAULTS SPIN. The model must be without error, each
# fault must be found, and not at the end of what there is room for.
set -euo pipefail
model=$(realpath "$1") faults=$2 spin=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failed=0
for ((fault = 0; fault <= faults; ++fault)); do
  level=0 # a fault is found sooner than an optimised search for it is compiled
  ((fault)) || level=1
  "$spin" -a -DDEFECT="$fault" "$model" >spin.log || { cat spin.log; exit 1; }
  cc -O$level -w -DSAFETY -o pan pan.c
  ./pan -m2000000 >pan.log
  errors=$(sed -n 's/.*errors: //p' pan.log) states=$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' pan.log)
  echo "fault $fault: $errors errors, $states states: $(sed -n 's/^pan:1: //p' pan.log)"
  if grep -q 'max search depth too small\|Search not completed\|out of memory' pan.log && ((fault == 0)); then
    echo "fault 0: the search was not complete" && failed=1
  fi
  ((errors == (fault > 0))) || { echo "expected $((fault > 0)) errors" && failed=1; }
done
exit "$failed"
