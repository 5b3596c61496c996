#!/bin/bash
# dcgn vgpu run over a driver without GPUs: results as on one, what is split and what is not, and bad input.
#   fake.sh DCGN PROGRAM FOLDER        where libcuda.so.1 is, the fake one
set -u
dcgn=$1 program=$2
here=$(dirname "$(realpath "$0")")
export LD_LIBRARY_PATH=$3${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
unset CUDA_VISIBLE_DEVICES LD_PRELOAD
export DCGN_TEST_EMULATED_REGISTERS=128 # of a thread, unless something says less
export DCGN_VGPU_SPLIT=always  # but where it is said
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "FAILED: $1"
  cat "$work/out" "$work/err" 2>/dev/null
  failed=1
}
# expect WHAT CODE PATTERN command...: its exit code, and a pattern in what it prints
expect() {
  local what=$1 code=$2 pattern=$3
  shift 3
  "$@" >"$work/out" 2>"$work/err"
  local found=$?
  if [ $found != "$code" ]; then fail "$what: exit code $found, expected $code"; fi
  if ! cat "$work/out" "$work/err" | grep -q -- "$pattern"; then fail "$what: expected '$pattern'"; fi
}

"$program" "$here/kernels" >"$work/bare" || fail "the program without dcgn vgpu run"

# Results are as without, whatever the GPUs and pages.
for options in "--gpus 0,1" "--gpus 1,0" "--gpus 0,0" "--gpus 1" "--gpus 2 --placement interleaved"; do
  expect "$options" 0 . "$dcgn" vgpu run $options --report "$work/report" -- "$program" "$here/kernels"
  cmp -s "$work/out" "$work/bare" || fail "$options: another result"
done
DCGN_VGPU_EMULATED=4 expect "four GPUs" 0 "4 GPUs as one" "$dcgn" vgpu run "$program" "$here/kernels"
cmp -s "$work/out" "$work/bare" || fail "four GPUs: another result"

# Both GPUs run a part; what cannot be split says why.
DCGN_TEST_EMULATED_COUNTS=1 expect "a split launch" 0 "launched on 1 vector_add: 1" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" vector_add
expect "a cooperative launch" 0 "reverse  *1  *0  *1  grid synchronisation" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" cooperative
expect "a graph" 0 "recorded into a CUDA graph" "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" graph
expect "nodes of a graph" 0 "scale  *3  *0  *3  a node of a CUDA graph" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" graph_nodes
expect "a small grid" 0 "fewer blocks than GPUs" "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" small
expect "one GPU" 0 "there is one GPU alone" "$dcgn" vgpu run --gpus 1 "$program" "$here/kernels" vector_add
expect "buffers" 0 "buffers over all GPUs: 3, 24 MiB" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" vector_add
expect "a launch that fails" 0 "^64 blocks of 1024 threads: 701$" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" failures
# What PTX was assembled with goes with it: of the call, and of the fat binary.
DCGN_TEST_EMULATED_COUNTS=1 expect "options" 0 "loaded on 1 with 0=64 7=2 14=1: 1" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" options
grep -q "loaded on 1 with 0=32 1=256 7=1: 1" "$work/err" || fail "options of a call that loads a library"
grep -q "loaded on 0 with 0=64 7=2 14=1: 2" "$work/err" || fail "options of a module that runs whole"
grep -q "remark: the option -dscm=wb of the fat binary, which was not kept" "$work/err" || fail "an option that is lost"
# Limits are set on both GPUs, whether the virtual one is there already or not.
DCGN_TEST_EMULATED_COUNTS=1 expect "limits" 0 "limit 0 of 1 is 4096: 1" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" limits
grep -q "limit 0 of 1 is 2048: 1" "$work/err" || fail "a limit that is set later"
grep -q "limit 0 of 0 is 2048: 1" "$work/err" || fail "a limit of the first GPU"
expect "the machine" 0 "1 device of 2048 MiB, 2048 MiB in all" \
  "$dcgn" vgpu run --gpus 0,1 "$program" "$here/kernels" machine

# Measured: whole and on the first GPU to begin with; split where that is faster, back where it is not. A launch takes
# 200 us a block whole, so that it pays.
for options in "--gpus 0,1" "--gpus 0,0" "--gpus 2 --placement interleaved"; do
  expect "measured, $options" 0 . \
    "$dcgn" vgpu run $options --split measured --report "$work/report" -- "$program" "$here/kernels"
  cmp -s "$work/out" "$work/bare" || fail "measured, $options: another result"
done
DCGN_TEST_EMULATED_US=0 expect "short launches" 0 " 0 of 47 launches split" \
  "$dcgn" vgpu run --gpus 0,1 --split measured "$program" "$here/kernels"
"$program" "$here/kernels" many >"$work/many" || fail "many launches without dcgn vgpu run"
measured() {
  expect "many launches, $1 us" 0 "$2" env DCGN_TEST_EMULATED_US=200 DCGN_TEST_EMULATED_SPLIT_US=$1 \
    "$dcgn" vgpu run --gpus $3 --split=measured "$program" "$here/kernels" many
  cmp -s "$work/out" "$work/many" || fail "many launches, $1 us: another result"
  grep -q "^scale  .* variables: it uses device variables" "$work/err" || fail "what uses a variable, measured"
}
for gpus in 0,1 0,0; do
  measured 120 "buffers now over all GPUs; launches were tried split 1 times" $gpus
  grep -q "^buffers over all GPUs: [1-9]" "$work/err" || fail "where buffers are that stay spread"
  grep -q " before it was split first, or to time it whole" "$work/err" || fail "why launches were whole at first"
  measured 500 "whole: [0-9.]* x faster than split" $gpus
  grep -q "buffers now on the first GPU; launches were tried split 1 times" "$work/err" || fail "buffers that went back"
  grep -q "^buffers on the first GPU: [1-9]" "$work/err" || fail "where buffers are that went back"
done
DCGN_VGPU_SPLIT=measured expect "measured by the environment" 0 '"splits": "measured"' \
  "$dcgn" vgpu run --gpus 0,1 --json - "$program" "$here/kernels" vector_add
expect "a way to split" 2 "--split" "$dcgn" vgpu run --split sometimes "$program"

# Both ways.
expect "a check" 0 "made split and whole: 38 launches, no memory differs" \
  "$dcgn" vgpu run --gpus 0,1 --check -- "$program" "$here/kernels"
cmp -s "$work/out" "$work/bare" || fail "a check: another result"
expect "a check of some" 0 "made split and whole: 12 launches, no memory differs" \
  "$dcgn" vgpu run --gpus 0,1 --check=3 "$program" "$here/kernels"
# No room for what is saved before, or behind the split launch.
for pieces in 12 20; do
  DCGN_TEST_EMULATED_PIECES=$pieces expect "a check in $pieces pieces" 0 "a launch that was not made both ways" \
    "$dcgn" vgpu run --gpus 0,1 --check -- "$program" "$here/kernels" vector_add
done
for often in often 0 -1 1.5; do
  expect "a check of none" 2 "--check=$often: expected every how many" "$dcgn" vgpu run --check=$often "$program"
done

# Where the report goes, and whose the exit code is.
expect "JSON" 0 "^vector_add" "$dcgn" vgpu run --gpus 0,1 --json "$work/json" -q "$program" "$here/kernels" vector_add
grep -q '"split": 1,' "$work/json" || fail "the JSON document"
expect "JSON" 0 '"what": "vgpu run"' cat "$work/json"
[ "$("$dcgn" vgpu run --quiet "$program" "$here/kernels" vector_add 2>&1 >/dev/null)" = "" ] || fail "--quiet"
expect "an exit code" 17 "GPUs as one" "$dcgn" vgpu run "$program" "$here/kernels" exit
expect "a signal" 143 "no report" "$dcgn" vgpu run -- sh -c 'kill -TERM $$'
expect "options of the program" 0 "^-q --gpus$" "$dcgn" vgpu run -q echo -q --gpus

# Bad input.
expect "no program" 2 "no program: expected its name" "$dcgn" vgpu run --gpus 2
for option in --json --report --gpus; do
  expect "a program that $option takes" 2 "no program: $option took ./program for its value, expected a program's name" \
    "$dcgn" vgpu run $option ./program
done
expect "an empty --gpus" 2 '--gpus "": nothing, expected how many GPUs' "$dcgn" vgpu run --gpus "" "$program"
expect "an empty --report" 2 '--report "": nothing, expected a file' "$dcgn" vgpu run --report "" "$program"
expect "an unknown option" 2 "--nonsense: expected an option" "$dcgn" vgpu run --nonsense "$program"
expect "an unknown program" 3 "/no/such/program: No such file" "$dcgn" vgpu run /no/such/program
expect "no such GPU" 2 "--gpus 0,7: 7, expected numbers of GPUs from 0 to 1" "$dcgn" vgpu run --gpus 0,7 "$program"
expect "too many GPUs" 2 "--gpus 5: 5, expected" "$dcgn" vgpu run --gpus 5 "$program"
expect "no GPUs" 2 "--gpus 0: expected at least one" "$dcgn" vgpu run --gpus 0 "$program"
expect "a placement" 2 "placement" "$dcgn" vgpu run --placement nowhere "$program"
DCGN_VGPU_EMULATED=0 expect "no GPU" 2 "has no GPU to work with" "$dcgn" vgpu run "$program"
# Without the fake one: this machine's, of which it sees no GPU, or none.
LD_LIBRARY_PATH= CUDA_VISIBLE_DEVICES= expect "no driver" 2 "no CUDA driver on this machine\|has no GPU to work with" \
  "$dcgn" vgpu run "$program"
[ $failed = 0 ] && echo "all as expected"
exit $failed
