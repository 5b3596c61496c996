#!/usr/bin/env bash
# end.sh PROGRAM MPIRUN...: whatever way a job of three processes is stopped, each of them that is left ends soon, and
# says the same.
set -u
program=$1
shift
. "$(dirname "$0")/at_once.sh"

# expect HOW FILES PATTERN MPIRUN...: how the job is stopped, in $folder; so many processes write a file that matches.
expect() {
  timeout 60 "${@:4}" -n 3 "$program" "$1" "$folder" >"$folder/output" 2>&1 || [ $? -ne 124 ] || fail "$1: still there after a minute"
  # A launcher may be gone before those whom it has started.
  for _ in $(seq 100); do
    [ "$(ls "$folder" | grep -c '^[0-9]$')" -ge "$2" ] && break
    sleep 0.1
  done
  local told
  told=$(cat "$folder"/[0-9] 2>/dev/null | grep -c -E "$3")
  [ "$told" -eq "$2" ] || fail "$1: $told processes said '$3', expected $2:
$(head -n 5 "$folder"/*)"
}
# Whose last process does not run the job: it does answer, though it has no ranks any more.
unrun() {
  expect unrun 3 'has ended|the deadline of 20 s has passed|came to a good end' "$@"
  ! grep 'does not answer' "$folder"/[0-9] || fail unrun
}
# Each of those that are left writes what it has recorded, process 0 under the name that was given.
traced() {
  export DCGN_TRACE=$folder/t.json
  expect killed 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
  for file in t.json t-process-1.json; do
    grep -q '"cat":"call"' "$folder/$file" && [ "$(grep -c '"thread_name".*"rank":' "$folder/$file")" -eq 6 ] && tail -n 1 "$folder/$file" | grep -q '"clock_error_ns"' ||
      fail "killed: no trace $file, or not one of all ranks"
  done
}

at_once expect killed 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
at_once expect opening 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
at_once expect late 2 'not all 3 processes have come within 1 s' "$@"
if [ "${DCGN_EMULATED_GPUS-}" ] || [ ! -e /dev/nvidia0 ]; then # only a kernel of an emulated GPU can call it
  at_once expect exits 2 'process 2 \(pid [0-9]+ on .*\) has died' "$@"
fi
at_once expect throws 3 'had enough' "$@"
at_once expect leaves 3 'process 2 of 3 has left the job by an exception|had enough before it began' "$@"
at_once unrun "$@"
at_once expect waits 3 'the deadline of 3 s has passed for rank' "$@"
at_once expect order 3 'mismatch: rank [0-5] was or is in (scan|gather), number 1, but rank [0-5] was or is in' "$@"
at_once expect roots 3 'mismatch: rank [024] gave root [01] in broadcast, number 0 in communicator 1, but rank' "$@"
at_once traced "$@"
end_all
