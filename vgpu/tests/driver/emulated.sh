#!/bin/bash
# Programs of CUDA's runtime under dcgn vgpu run --emulate, the runtime static, shared, and with a default stream for each
# thread: results are the same on one, two and four GPUs; and what goes wrong says so.
#   emulated.sh DCGN NVCC
set -u
dcgn=$1 nvcc=$2
here=$(dirname "$(realpath "$0")")
unset LD_PRELOAD LD_LIBRARY_PATH
export DCGN_VGPU_SPLIT=always  # but where it is said
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "FAILED: $1"
  head -c 3000 "$work/out" "$work/err" 2>/dev/null
  failed=1
}
# expect WHAT CODE PATTERN command...: its exit code, and a pattern in what it prints
expect() {
  local what=$1 code=$2 pattern=$3
  shift 3
  timeout 60 "$@" >"$work/out" 2>"$work/err"
  local found=$?
  if [ $found != "$code" ]; then fail "$what: exit code $found, expected $code"; fi
  if ! cat "$work/out" "$work/err" | grep -q -- "$pattern"; then fail "$what: expected '$pattern'"; fi
}
emulate() { expect "$1" "$2" "$3" "$dcgn" vgpu run --emulate "${@:4}"; }

build() { "$nvcc" -std=c++17 -O1 -arch=sm_90 -o "$work/$1" "${@:2}" "$here"/emulated_{program,managed}.cu >"$work/err" 2>&1 || fail "$1 is not built"; }
build static -cudart static & build shared -cudart shared & wait
build per_thread -cudart static --default-stream per-thread

for gpus in 1 2 4; do
  for kind in static shared per_thread; do
    [ $kind$gpus = per_thread4 ] && continue
    emulate "$kind on $gpus" 0 "variables 880" --gpus $gpus -q "$work/$kind"
    [ -e "$work/first" ] || cp "$work/out" "$work/first"
    cmp -s "$work/out" "$work/first" || fail "$kind on $gpus: another result"
  done
done
for kind in static per_thread; do
  emulate "$kind, measured" 0 "variables 880" --gpus 2 --split=measured -q "$work/$kind"
  cmp -s "$work/out" "$work/first" || fail "$kind, measured: another result"
done
DCGN_TEST_EMULATED_US=200 DCGN_TEST_EMULATED_SPLIT_US=100 emulate "a variable given, measured" 0 \
  "argument 2 leads to memory that the first GPU alone" --gpus 2 --split=measured "$work/static" variable_given
emulate "GPUs unasked" 0 "2 GPUs as one" "$work/shared" atomics
emulate "a part each" 0 "twice.*  *1  *1  *0" --gpus 0,1 "$work/static" streams
emulate "a check" 0 "no memory differs" --check "$work/shared" streams
emulate "memory that is not there" 0 "emulated GPU [01]: out_of_bounds: address 0x" "$work/static" fault
emulate "a fault of another GPU" 0 "emulated GPU 1: out_of_bounds_at_last: address 0x" "$work/static" far_fault
emulate "a trap" 0 "emulated GPU [01]: fail_if: trap" "$work/shared" trap
emulate "a call that is not emulated" 0 "cudaMallocArray is not emulated" "$work/static" configurations
strip -o "$work/stripped" "$work/static"
emulate "no symbols" 2 "no symbols: link it with -cudart shared, or do not strip it" "$work/stripped"
emulate "too many GPUs" 2 "--gpus 17: 17, expected" --gpus 17 "$work/static"
emulate "a program without GPUs" 0 "^hello$" echo hello
[ $failed = 0 ] && echo "all as expected"
exit $failed
