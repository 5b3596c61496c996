#!/bin/bash
# Programs on real GPUs, with and without `dcgn vgpu run`: of CUDA's runtime, static and shared, of the driver, with code
# that is compiled at run time, and of a library of templates. Takes less than 1 GiB of each GPU.
#   run.sh DCGN [GPUS]          GPUs: 0,1, or 0,0 where there is one
# A line each; exit code 77 where there is no GPU or no nvcc.
set -u
dcgn=$1
here=$(dirname "$(realpath "$0")")
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then echo "skipped: no nvcc here"; exit 77; fi
if ! nvidia-smi -L >/dev/null 2>&1; then echo "skipped: no GPU here"; exit 77; fi
gpus=${2:-$([ "$(nvidia-smi -L | wc -l)" -gt 1 ] && echo 0,1 || echo 0,0)}
export DCGN_VGPU_SPLIT=always  # but where it is said
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# compare NAME SPLIT command...: SPLIT is how many launches must be split at least
compare() {
  local name=$1 least=$2 bare code split
  shift 2
  timeout 120 "$@" >"$work/bare" 2>"$work/bare.err"
  bare=$?
  timeout 120 "$dcgn" vgpu run --gpus "$gpus" --json "$work/json" --report "$work/report" -- "$@" >"$work/out" 2>"$work/err"
  code=$?
  split=$(grep -m1 -o '"split": [0-9]*' "$work/json" 2>/dev/null | grep -o '[0-9]*$')
  if [ $bare != 0 ]; then
    echo "FAILED  $name: exit code $bare without dcgn vgpu run: $(head -c 200 "$work/bare" "$work/bare.err" | tr '\n' ' ')"
  elif [ $code != 0 ] || ! cmp -s "$work/bare" "$work/out"; then
    echo "FAILED  $name: exit code $code; $(diff "$work/bare" "$work/out" | head -4 | tr '\n' ' ') $(head -3 "$work/err")"
    sed 's/^/        /' "$work/report" 2>/dev/null
  elif [ "${split:-0}" -lt "$least" ]; then
    echo "FAILED  $name: ${split:-no} launches split, expected $least or more"
    sed 's/^/        /' "$work/report" 2>/dev/null
  else
    echo "ok      $name: same result, $(head -1 "$work/report" | sed 's/^dcgn: vgpu: //')"
    return
  fi
  failed=1
}

build() {
  local out=$1
  shift
  "$nvcc" -std=c++20 -O2 -arch=sm_80 -o "$work/$out" "$@" 2>"$work/build" || { echo "FAILED  $out: not built"; cat "$work/build"; failed=1; }
}
build static -cudart static "$here/runtime_program.cu"
build shared -cudart shared "$here/runtime_program.cu"
build per_thread -cudart static --default-stream per-thread "$here/runtime_program.cu"
build thrust "$here/thrust_program.cu"
whole=("$here"/whole_{program,addresses,captures,left,waits}.cu)
build whole -cudart static -maxrregcount=64 "${whole[@]}"
build whole_per_thread -cudart shared --default-stream per-thread "${whole[@]}"
build driver "$here/driver_code.cpp" "$here/driver_program.cpp" -lcuda
build nvrtc "$here/nvrtc_program.cpp" -lnvrtc -ldl

for kind in static shared per_thread; do
  for step in $("$work/$kind" list); do
    case $step in
      cooperative | graph_nodes) least=0 ;;
      pointers) least=0 ;;
      *) least=1 ;;
    esac
    compare "$kind $step" $least "$work/$kind" "$step"
  done
done
# Right, and whole where they have to be; the reason is said.
expect_why() {
  grep -q -- "$2" "$work/report" || { echo "FAILED  $1 does not say: $2"; failed=1; sed 's/^/        /' "$work/report"; }
}
for kind in whole whole_per_thread; do
  for step in $("$work/$kind" list); do
    least=0 why=
    case $step in
      clocks) continue ;;  # below
      pieces_* | element_0_outside | address_in_constant | mapped | stack | host_threads | thread_streams | registers) least=1 ;;
      held_writes | freed_in_capture | captured_meanwhile | memory_of_host) least=1 ;;
      addresses_stored) why="addresses: of coefficients, of which each GPU has its own" ;;
      tables_of_functions) least=1 why="functions: " ;;
      either_of_two) why="addresses: of .*constant_numbers.*, of which each GPU has its own, stored in memory" ;;
      atomics_behind) why="atomics by pointers that lie in memory, where there is memory of the host" ;;
      unasked_shared_memory) least=1 ;;
      heap_of_left) why="follows pointers that lie in memory, where there is memory of malloc in kernels" ;;
      heap) why="malloc: each GPU has a heap of its own" ;;
      virtual_functions | function_pointers) why="functions: called through a pointer" ;;
      flags_of_grid) why="spin-wait: a loop that ends by what another block writes" ;;
      flag_of_stream) least=1 why="spin-wait: a loop that ends by what another block writes" ;;
      of_graph) why="leads to memory that the first GPU alone is known to reach" ;;
      all_shared_memory) why="shared memory: split, a block takes" ;;
      atomics_on_host | system_atomics | atomics_in_packed) why="atomics on memory of the host, by argument 1" ;;
    esac
    compare "$kind $step" $least "$work/$kind" "$step"
    [ -z "$why" ] || expect_why "$kind $step" "$why"
  done
  compare "$kind, all steps" 10 "$work/$kind"
done
compare "static, all steps" 20 "$work/static"
compare "driver, all steps" 20 "$work/driver" "$here/kernels"
compare "nvrtc" 1 "$work/nvrtc"
compare "thrust" 1 "$work/thrust"

# Each launch both ways; and what is not the same twice.
check() {
  local name=$1 code=$2 pattern=$3
  shift 3
  timeout 300 "$dcgn" vgpu run --gpus "$gpus" --check --report "$work/report" -- "$@" >"$work/out" 2>"$work/err"
  local found=$?
  if [ $found = "$code" ] && grep -q "$pattern" "$work/report"; then
    echo "ok      $name, checked: $(grep "made split and whole" "$work/report")"
  else
    echo "FAILED  $name, checked: exit code $found, expected $code and $pattern; $(head -3 "$work/err")"
    sed 's/^/        /' "$work/report"
    failed=1
  fi
}
check "static" 0 "no memory differs" "$work/static"
check "driver" 0 "no memory differs" "$work/driver" "$here/kernels"
for step in pieces_copied element_0_outside address_in_constant mapped stack registers memory_of_host; do
  check "whole $step" 0 "no memory differs" "$work/whole" $step
done
check "clocks" 1 "differs, split and whole: clocks" "$work/whole" clocks

# Why a cooperative launch stays whole is said.
"$dcgn" vgpu run --gpus "$gpus" "$work/static" cooperative 2>&1 | grep -q "grid synchronisation" &&
  echo "ok      a cooperative launch says why" || { echo "FAILED  a cooperative launch does not say why"; failed=1; }
exit $failed
