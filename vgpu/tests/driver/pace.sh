#!/bin/bash
# No load is slower under `dcgn vgpu run` than without it: milliseconds of a step of pace_program.cu, both ways, the
# best of four runs each, and of starting a program that does next to nothing.
#   pace.sh DCGN [GPUS [SECONDS [LOAD...]]]      GPUs: 0,1, or 0,0 where there is one; seconds of a run [4]
# Exit code 1 where a ratio is above 1.05 or a start takes 50 ms more, 77 where there is no GPU or no nvcc.
set -u
dcgn=$1
here=$(dirname "$(realpath "$0")")
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then echo "skipped: no nvcc here"; exit 77; fi
if ! nvidia-smi -L >/dev/null 2>&1; then echo "skipped: no GPU here"; exit 77; fi
gpus=${2:-$([ "$(nvidia-smi -L | wc -l)" -gt 1 ] && echo 0,1 || echo 0,0)}
seconds=${3:-4}
shift $(($# < 3 ? $# : 3))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
"$nvcc" -std=c++20 -O2 -arch=sm_90 -o "$work/program" "$here/pace_program.cu" || exit 1

# least FILE LOAD command...: runs it once, and keeps the least milliseconds in the file.
least() {
  local file=$1 load=$2 ms
  shift 2
  timeout 120 "$@" "$work/program" "$load" "$seconds" >"$work/out" 2>"$work/err" ||
    { echo "FAILED  $load: $(head -c 300 "$work/out" "$work/err" | tr '\n' ' ')" >&2; return 1; }
  ms=$(awk 'END { print $2 }' "$work/out")
  [ -e "$file" ] && ms=$(awk -v a="$ms" '{ print a < $1 ? a : $1 }' "$file")
  echo "$ms" >"$file"
}

printf '%-20s %12s %12s %8s\n' "ms of a step" plain vgpu ratio
for load in ${*:-$("$work/program" list)}; do
  rm -f "$work/plain" "$work/vgpu"
  for _ in 1 2 3 4; do # by turns: a machine is not as fast at all times
    least "$work/plain" "$load" &&
      least "$work/vgpu" "$load" "$dcgn" vgpu run --gpus "$gpus" --split measured --report "$work/report" -- ||
      { failed=1; continue 2; }
  done
  ratio=$(awk 'NR == 1 { plain = $1 } NR == 2 { printf "%.3f", $1 / plain }' "$work/plain" "$work/vgpu")
  mark=
  if awk -v r="$ratio" 'BEGIN { exit !(r > 1.05) }'; then mark="  slower"; failed=1; fi
  printf '%-20s %12s %12s %8s%s\n' "$load" "$(<"$work/plain")" "$(<"$work/vgpu")" "$ratio" "$mark"
  sed -n '2,$s/^/    /p' "$work/report" | grep -v "between GPUs\|buffers over"
done

# Starting: the least of five runs of a program that lists its loads, and of one short step.
start() {
  local least=
  for _ in 1 2 3 4 5; do
    local begin=$(date +%s%N)
    "$@" >/dev/null 2>&1
    local ms=$((($(date +%s%N) - begin) / 1000000))
    [ -z "$least" ] || [ $ms -lt "$least" ] && least=$ms
  done
  echo "$least"
}
plain=$(start "$work/program" small_synchronized 0)
vgpu=$(start "$dcgn" vgpu run --gpus "$gpus" -q -- "$work/program" small_synchronized 0)
printf '%-20s %12s %12s\n' "start, ms" "$plain" "$vgpu"
[ $((vgpu - plain)) -le 50 ] || { echo "a start takes $((vgpu - plain)) ms more, expected 50 at most"; failed=1; }
exit $failed
