#!/usr/bin/env bash
# [FAULTS='HOW ...'] faults.sh PROGRAM MPIRUN...: one of three processes fares badly. Those that are left say the cause within the deadline,
# or go on where there is nothing wrong; nothing of a job stays behind, and the next one is as good as any.
set -u
program=$1
shift
launcher=("$@")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
  echo "$1:"
  head -n 12 "$folder"/*
  failures=$((failures + 1))
}
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
  local how=$1 count=$2 seconds=$3 pattern=$4 told
  [[ " ${FAULTS-$how} " == *" $how "* ]] || return 0
  rm -f "$folder"/*
  timeout 90 "${launcher[@]}" -n 3 "$program" "$how" "$folder" >"$folder/output" 2>&1 &
  local launched=$!
  wait_for "$count" "$seconds"
  told=$(cat "$folder"/[0-9] 2>/dev/null | grep -c -E "$pattern")
  [ "$told" -eq "$count" ] || fail "$how: $told lines match '$pattern' after $seconds s, expected $count"
  if [ "$how" = frozen ] || [ "$how" = stays ]; then
    kill -CONT "$(cat "$folder/pid")"
    wait_for 3 20
    grep -q -E 'the deadline of 5 s has passed|has died|does not answer' "$folder/2" || fail "$how: what the process says that goes on"
  fi
  wait "$launched"
}

# alone HOW SECONDS PATTERN...: the same with all nodes in one process, which then runs a job on the same GPUs, and one of
# CPU ranks alone: a pattern for what it tells of each.
alone() {
  local how=$1 seconds=$2 pattern
  shift 2
  [[ " ${FAULTS-$how} " == *" $how "* ]] || return 0
  rm -f "$folder"/*
  timeout "$seconds" bash "$(dirname "$0")/launch.sh" -n 1 "$program" "$how" "$folder" >"$folder/output" 2>&1
  for pattern in "$@"; do
    grep -q -E "$pattern" "$folder/0" || fail "$how, alone: no line matches '$pattern'"
  done
}

expect frozen 2 25 'process 2 \(pid [0-9]+ on .*\) does not answer|process 2 does not answer'
expect stays 2 25 'process 2 \(pid [0-9]+ on .*\) does not answer'
expect thawed 3 25 '^came to a good end$'
expect slow 3 25 '^came to a good end$'
expect late 3 25 '^came to a good end$'
expect memory 3 60 '^came to a good end; (world|job|.*memory|.*thread|.*could not set up its ranks).*; came to a good end$'
expect starves 3 25 '^(dcgn: job: rank 4 .* threw: )?std::bad_alloc'
expect quits 2 25 'process 2 \(pid [0-9]+ on .*\) has died'
if [ -e /dev/nvidia0 ]; then
  expect illegal 3 25 '^dcgn: (job: GPU 0 of node 2|synchronize): .*cudaErrorIllegalAddress'
  expect endless 3 30 '^dcgn: (job: )?.*the deadline of 5 s has passed'
  expect crowded 3 30 '^dcgn: (job: )?.*the deadline of 5 s has passed'
  alone illegal 30 '^dcgn: synchronize: .*Wait .*cudaErrorIllegalAddress' '^next: dcgn: .*start the program anew$' \
    '^of CPUs: came to a good end$'
  alone crowded 60 '^dcgn: job: the deadline of 5 s has passed' '^next: came to a good end$' '^of CPUs: came to a good end$'
  alone endless 60 '^dcgn: job: the deadline of 5 s has passed'
else
  expect throws 3 25 '^dcgn: (job: GPU 0 of node 2|launch): .*the kernel has had enough'
  alone throws 25 '^dcgn: launch: .*the kernel has had enough$' '^next: came to a good end$' '^of CPUs: came to a good end$'
fi
expect good 3 25 '^came to a good end$'
exit $failures
