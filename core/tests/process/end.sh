#!/usr/bin/env bash
# end.sh PROGRAM MPIRUN...: whatever way a job of three processes is stopped, each of them that is left ends soon, and
# says the same.
set -u
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect HOW FILES PATTERN
expect() {
  rm -f "$folder"/*
  timeout 60 "${@:4}" -n 3 "$program" "$1" "$folder" >"$folder/output" 2>&1 || [ $? -ne 124 ] || {
    echo "$1: still there after a minute"
    failures=$((failures + 1))
  }
  # A launcher may be gone before those whom it has started.
  for _ in $(seq 100); do
    [ "$(ls "$folder" | grep -c '^[0-9]$')" -ge "$2" ] && break
    sleep 0.1
  done
  local told
  told=$(cat "$folder"/[0-9] 2>/dev/null | grep -c -E "$3")
  if [ "$told" -ne "$2" ]; then
    echo "$1: $told processes said '$3', expected $2:"
    head -n 5 "$folder"/*
    failures=$((failures + 1))
  fi
}

expect killed 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
expect opening 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
expect late 2 'not all 3 processes have come within 1 s' "$@"
if [ ! -e /dev/nvidia0 ]; then # only a kernel of an emulated GPU can call it
  expect exits 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
fi
expect throws 3 'had enough' "$@"
expect leaves 3 'process 2 of 3 has left the job by an exception|had enough before it began' "$@"
expect unrun 3 'has ended|the deadline of 20 s has passed|came to a good end' "$@"
if grep -q 'does not answer' "$folder"/[0-9]; then # it does, though it has no ranks any more
  echo "unrun: $(grep 'does not answer' "$folder"/[0-9])"
  failures=$((failures + 1))
fi
expect waits 3 'the deadline of 3 s has passed for rank' "$@"
expect order 3 'mismatch: rank [0-5] was or is in (scan|gather), number 1, but rank [0-5] was or is in' "$@"
expect roots 3 'mismatch: rank [024] gave root [01] in broadcast, number 0 in communicator 1, but rank' "$@"
# Each of those that are left writes what it has recorded, process 0 under the name that was given.
export DCGN_TRACE=$folder/t.json
expect killed 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
for file in t.json t-process-1.json; do
  grep -q '"cat":"call"' "$folder/$file" && [ "$(grep -c '"thread_name".*"rank":' "$folder/$file")" -eq 6 ] && tail -n 1 "$folder/$file" | grep -q '"clock_error_ns"' || {
    echo "killed: no trace $file, or not one of all ranks"
    failures=$((failures + 1))
  }
done
exit $failures
