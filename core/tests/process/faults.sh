#!/usr/bin/env bash
# [FAULTS='HOW ...'] faults.sh PROGRAM MPIRUN...: one of three processes fares badly. Those that are left say the cause within the deadline,
# or go on where there is nothing wrong; nothing of a job stays behind, and the next one is as good as any. Ends with 77
# where FAULTS has none but those of real GPUs, and there is no GPU.
set -u
program=$1
shift
launcher=("$@")
. "$(dirname "$0")/at_once.sh"

# told WHAT: fails, with what the processes told.
told() { fail "$1:
$(head -n 12 "$folder"/*)"; }
# wait_for COUNT SECONDS: until so many processes have told what they heard.
wait_for() {
  for _ in $(seq $((10 * $2))); do
    [ "$(ls "$folder" | grep -c '^[0-9]$')" -ge "$1" ] && return
    sleep 0.1
  done
}
# expect HOW COUNT SECONDS PATTERN: so many processes tell something that matches, in that time at most, and no more do
# than may.
expect() {
  local how=$1 count=$2 seconds=$3 pattern=$4 matching
  [[ " ${FAULTS-$how} " == *" $how "* ]] || return 0
  timeout 90 "${launcher[@]}" -n 3 "$program" "$how" "$folder" >"$folder/output" 2>&1 &
  local launched=$!
  wait_for "$count" "$seconds"
  matching=$(cat "$folder"/[0-9] 2>/dev/null | grep -c -E "$pattern")
  [ "$matching" -eq "$count" ] || told "$how: $matching lines match '$pattern' after $seconds s, expected $count"
  if [ "$how" = frozen ] || [ "$how" = stays ]; then
    kill -CONT "$(cat "$folder/pid")"
    wait_for 3 20
    grep -q -E 'the deadline of 5 s has passed|has died|does not answer' "$folder/2" || told "$how: what the process says that goes on"
  fi
  wait "$launched"
}

# alone HOW SECONDS PATTERN...: the same with all nodes in one process, which then runs a job on the same GPUs, and one of
# CPU ranks alone: a pattern for what it tells of each.
alone() {
  local how=$1 seconds=$2 pattern
  shift 2
  [[ " ${FAULTS-$how} " == *" $how "* ]] || return 0
  timeout "$seconds" bash "$(dirname "$0")/launch.sh" -n 1 "$program" "$how" "$folder" >"$folder/output" 2>&1
  for pattern in "$@"; do
    grep -q -E "$pattern" "$folder/0" || told "$how, alone: no line matches '$pattern'"
  done
}

at_once expect frozen 2 25 'process 2 \(pid [0-9]+ on .*\) does not answer|process 2 does not answer'
at_once expect stays 2 25 'process 2 \(pid [0-9]+ on .*\) does not answer'
at_once expect thawed 3 25 '^came to a good end$'
at_once expect slow 3 25 '^came to a good end$'
at_once expect late 3 25 '^came to a good end$'
at_once expect memory 3 60 '^came to a good end; (world|job|.*memory|.*thread|.*could not set up its ranks).*; came to a good end$'
at_once expect starves 3 25 '^(dcgn: job: rank 4 .* threw: )?std::bad_alloc'
at_once expect quits 2 25 'process 2 \(pid [0-9]+ on .*\) has died'
gpu= # what only a real one does
[ -e /dev/nvidia0 ] && [ -z "${DCGN_EMULATED_GPUS-}" ] && gpu=yes
if [ -z "$gpu" ] && [[ "${FAULTS-}" == illegal* ]]; then
  echo "skipped: no GPU"
  exit 77
fi
if [ "$gpu" ]; then
  at_most=1
  at_once expect illegal 3 25 '^dcgn: (job: GPU 0 of node 2|synchronize): .*cudaErrorIllegalAddress'
  at_once expect endless 3 30 '^dcgn: (job: )?.*the deadline of 5 s has passed'
  at_once expect crowded 3 30 '^dcgn: (job: )?.*the deadline of 5 s has passed'
  at_once alone illegal 30 '^dcgn: synchronize: .*Wait .*cudaErrorIllegalAddress' '^next: dcgn: .*start the program anew$' \
    '^of CPUs: came to a good end$'
  at_once alone crowded 60 '^dcgn: job: the deadline of 5 s has passed' '^next: came to a good end$' '^of CPUs: came to a good end$'
  at_once alone endless 60 '^dcgn: job: the deadline of 5 s has passed'
else
  at_once expect throws 3 25 '^dcgn: (job: GPU 0 of node 2|launch): .*the kernel has had enough'
  at_once alone throws 25 '^dcgn: launch: .*the kernel has had enough$' '^next: came to a good end$' '^of CPUs: came to a good end$'
fi
at_once expect good 3 25 '^came to a good end$'
end_all
