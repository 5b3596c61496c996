#!/usr/bin/env bash
# demo.sh COUNT DCGN LAUNCHER...: the demonstrations in so many processes are one job, of which process 0 alone tells;
# what makes no sense is told once, and all of them end.
set -u
count=$1 dcgn=$2
shift 2
launcher=("$@")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit
failures=0

# run ARGUMENT...: dcgn in all processes; stdout, stderr and the processes' exit codes are files.
run() {
  rm -f "$folder"/*
  timeout 120 "${launcher[@]}" -n "$count" bash -c '"$@"; code=$?; echo $code >>codes; exit $code' - "$dcgn" "$@" \
    >out 2>err
  status=$?
}
fail() {
  echo "FAILED: $1; exit code $status, of the processes: $(echo $(cat codes)); stdout and stderr:"
  head -c 3000 out err
  failures=$((failures + 1))
}
# expect RANKS ARGUMENT...: a document that has so many ranks and nothing wrong, and nothing else.
expect() {
  run demo "${@:2}" --json
  local ranks
  ranks=$(grep -c -E '"(rank|between)":' out)
  [ $status -eq 0 ] && [ "$ranks" -eq "$1" ] && [ "$(grep -c '^{$' out)" -eq 1 ] && [ "$(head -c 1 out)" = '{' ] &&
    [ "$(tail -n 1 out)" = '}' ] && grep -q '"wrong": 0$' out || fail "dcgn demo ${*:2}: expected $1 ranks"
}
# refused CODE PATTERN ARGUMENT...: one line says so, and all processes that are not ended by the launcher say so.
refused() {
  run "${@:3}"
  [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(sort -u codes)" = "$1" ] && [ ! -s out ] &&
    [ "$(grep -c '^dcgn: ' err)" -eq 1 ] && grep -q -e "$2" err || fail "dcgn ${*:3}: expected $1 and '$2'"
}

shape=(--cpus 1 --gpus 1 --slots 2)
small=(--bodies 200 --steps 4 --frames 2 --size 60x40 --check)
expect $((3 * count)) nbody "${small[@]}" "${shape[@]}" --balance measured
[ -s nbody_001.png ] || fail "no picture"
expect "$count" nbody "${small[@]}" --cpus 1 --gpus 0 --exchange broadcast
expect $((2 * count)) nbody "${small[@]}" --cpus 0 --gpus 1 --slots 2 --blocks 2 --exchange all-gather
expect $((3 * count)) cannon --size 61 --repeat 2 --check "${shape[@]}"
expect $((3 * count)) mandelbrot --size 64x48 --check "${shape[@]}"
expect "$count" mandelbrot --size 64x48 --check --cpus 1 --gpus 0
[ -s mandelbrot_ranks.png ] || fail "no picture"

refused 2 "'0': expected" demo nbody --bodies 0
refused 2 "$count bodies for $((2 * count)) ranks" demo nbody --bodies "$count" --cpus 2 --gpus 0
refused 2 "--nodes 2 in a job of $count processes: .*; expected 1" demo cannon --nodes 2
refused 3 "/nonexistent/x_000.png" demo nbody --output /nonexistent/x
if [ "$count" -eq 2 ]; then
  expect 3 pingpong --sizes 64K --rounds 3
else
  refused 2 "$count processes: expected 1, or 2" demo pingpong
fi
if "$dcgn" bench --help >/dev/null 2>&1; then
  refused 2 "$count processes: expected 1, without" bench coll
fi
exit $failures
