#!/usr/bin/env bash
# full_disk.sh DCGN LAUNCHER...: a job of two processes whose checkpoints a disk has no room for says so, and leaves the
# older one whole and nothing beside it; with room it goes on from there. So it does with a trace, without which the job
# is good all the same. Ends with 77 where there is no such disk.
set -u
dcgn=$1
shift
if [ "${FULL_DISK-}" = "" ]; then
  unshare -m mount -t tmpfs -o size=1m dcgn /mnt 2>/dev/null || {
    echo "skipped: no disk of a megabyte can be mounted here"
    exit 77
  }
  FULL_DISK=/mnt exec unshare -m bash "$0" "$dcgn" "$@"
fi
mount -t tmpfs -o size=1m dcgn "$FULL_DISK" || exit
cd "$FULL_DISK" || exit
failures=0
# run CODE PATTERN FILES ARGUMENT...: heat in both processes; then these files are there.
run() {
  local said status
  said=$(timeout 60 "${launcher[@]}" -n 2 "$dcgn" demo heat "${heat[@]}" "${@:4}" 2>&1)
  status=$?
  [ "$status" -eq "$1" ] && grep -q -e "$2" <<<"$said" && [ "$(ls -A | grep -v filler | tr -d "\n")" = "$3" ] && return
  echo "dcgn demo heat ${*:4}: exit code $status, expected $1 and '$2'; files $(ls -A), expected $3; it says:"
  echo "$said"
  failures=$((failures + 1))
}
launcher=("$@")
heat=(--ranks 1 --gpus 0 --mode borders-first --size 32x32x32 --record every=1000 --output heat --checkpoint every=2)
# is_old FILE SUM: it is what it was.
is_old() {
  [ "$(cksum <"$1")" = "$2" ] && return
  echo "the older $1 is another"
  failures=$((failures + 1))
}
# fill BYTES: all of the disk but so much.
fill() {
  head -c 2M /dev/zero >filler 2>/dev/null
  truncate -s "-$1" filler
}
run 0 '' heat.csvheat.h5 --steps 2
before=$(cksum <heat.h5)
fill 64K # room for the records, and half of a checkpoint
run 3 'heat.h5: not written: .*No space left on device' heat.csvheat.h5 --steps 4
is_old heat.h5 "$before"
rm filler
run 0 '' heat.csvheat.h5 --steps 4 --restart heat.h5
rm heat.h5
heat=("${heat[@]::${#heat[@]}-2}") # without checkpoints
run 0 '' heat.csvtrace.json --steps 4 --trace trace.json
before=$(cksum <trace.json)
fill 16K # for a part of the trace
run 0 'the trace trace.json: .*not written: No space left on device' heat.csvtrace.json --steps 4 --trace trace.json
is_old trace.json "$before"
exit $failures
