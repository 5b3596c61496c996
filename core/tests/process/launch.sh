#!/usr/bin/env bash
# launch.sh -n COUNT PROGRAM [ARGUMENT...]: starts so many processes with the variables that torchrun sets, and fails
# where one of them does.
set -u
[ "${1-}" = -n ] && [ $# -ge 3 ] && [ "$2" -ge 1 ] 2>/dev/null || {
  sed -n '2,3s/^# //p' "$0"
  exit 2
}
count=$2
shift 2
export WORLD_SIZE=$count LOCAL_WORLD_SIZE=$count MASTER_ADDR=${MASTER_ADDR-localhost}
export MASTER_PORT=${MASTER_PORT-$((20000 + $$ % 10000))} TORCHELASTIC_RUN_ID=$$.$RANDOM
processes=()
for ((rank = 0; rank < count; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank "$@" &
  processes+=($!)
done
# Those that run behind a shell do not hear of Ctrl-C.
stop() {
  kill "${processes[@]}" 2>/dev/null
  wait
  exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM
status=0
for process in "${processes[@]}"; do
  wait "$process" || status=$?
done
exit $status
