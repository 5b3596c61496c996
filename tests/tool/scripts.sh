#!/usr/bin/env bash
# The scripts, in a copy of what they touch, with false programs around them.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# expect WHAT COMMAND...: counts a failure where the command fails.
expect() {
  if "${@:2}"; then echo "ok: $1"; else echo "FAILED: $1" && failed=1; fi
}
# program NAME LINE...: what NAME is from now on.
program() {
  printf '%s\n' '#!/bin/sh' "${@:2}" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

mkdir "$scratch/bin"
export PATH=$scratch/bin:$PATH

# scripts/gpu --fetch without a network: fails, and removes nothing.
mkdir -p "$scratch"/fetch/{scripts,src,bin,share/doc,include/boost}
touch "$scratch/fetch/src/kept.cpp" "$scratch/fetch/include/boost/kept.hpp"
cp "$root/scripts/gpu" "$scratch/fetch/scripts"
find "$scratch/fetch" >"$scratch/before"
program apt-cache 'echo "  Depends: libboost-context1.74-dev"'
program apt-get 'exit 100'
TMPDIR=$scratch bash "$scratch/fetch/scripts/gpu" --fetch >"$scratch/log" 2>&1
expect "a failed fetch gives apt-get's exit code" test $? -eq 100
rm -rf "$scratch/fetch/.gpu-packages" # which it may make
expect "a failed fetch removes nothing" diff "$scratch/before" <(find "$scratch/fetch")
expect "a failed fetch leaves no temporary folder" test -z "$(find "$scratch" -mindepth 1 -maxdepth 1 -name 'tmp.*')"

# scripts/tidy without anything to look at.
mkdir "$scratch/empty"
said=$("$root/scripts/tidy" "$scratch/empty" 2>&1)
expect "tidy without compile_commands.json fails" test $? -ne 0
expect "and says why" grep -q 'has no compile_commands.json' <<<"$said"
echo '[]' >"$scratch/empty/compile_commands.json"
expect "tidy of no files fails" eval "! '$root/scripts/tidy' '$scratch/empty' >/dev/null 2>&1"

# scripts/check-kernels, with kernels made up: one function that nobody has given a descriptor, one that has its own.
check() { "$root/scripts/check-kernels" "$scratch/kernels" 2>&1; }
mkdir "$scratch/kernels"
said=$(check)
expect "check-kernels of no objects fails" test $? -eq 2
expect "and says what it expected" grep -q 'has no objects: expected the folder of a CUDA build' <<<"$said"
touch "$scratch/kernels/one.o"
program cuobjdump 'touch one.cubin'
entry='printf "%s\n" ".text.kernel:" " /*00*/ ULDC.64 UR4, c[0x0][0x208] ;" " /*10*/ LD.E R2, desc[UR4][R2.64] ;"'
program nvdisasm "$entry" 'printf "%s\n" "\$kernel\$own:" " /*20*/ R2UR UR4, R6 ;" " /*30*/ R2UR UR5, R7 ;" " /*40*/ LD.E R2, desc[UR4][R2.64] ;"'
said=$(check)
expect "check-kernels finds nothing in a good kernel" test $? -eq 0
program nvdisasm "$entry" 'printf "%s\n" "\$kernel\$lost:" " /*20*/ LD.E R2, desc[UR4][R2.64] ;"'
said=$(check)
expect "check-kernels finds a descriptor that nobody has made" test $? -eq 1
expect "and names the function and the kernel" grep -q 'one.o: lost, called by kernel' <<<"$said"
program nvdisasm "$entry" 'printf "%s\n" "\$kernel\$lost:" " /*20*/ R2UR UR4, R0 ;" " /*30*/ R2UR UR5, R1 ;" " /*40*/ LD.E R2, desc[UR4][R2.64] ;"'
said=$(check)
expect "check-kernels finds a descriptor made of the stack pointer" test $? -eq 1
rm "$scratch/bin/cuobjdump" "$scratch/bin/nvdisasm"

# .ci/run where no time is left for what may be left out, or too little.
mkdir -p "$scratch/ci/.ci" "$scratch/ci/scripts"
cp "$root/.ci/run" "$scratch/ci/.ci"
program make 'exit 0'
program cmake 'exit 0'
program nvcc 'exit 0'
cp "$scratch/bin/make" "$scratch/ci/scripts/install-packages"
last=$(CI_BUDGET_S=0 bash "$scratch/ci/.ci/run" | tail -1)
expect "ci counts what it left out" grep -Eq '^total +[0-9]+  ok, 2 left out$' <<<"$last"
program make '[ "$1" != docs ]'
last=$(CI_BUDGET_S=0 bash "$scratch/ci/.ci/run" | tail -1)
expect "ci says that a step failed" grep -Eq '^total +[0-9]+  FAILED, 2 left out$' <<<"$last"
program make '[ "$1" != asan ] || sleep 60'
cp "$scratch/bin/make" "$scratch/ci/scripts/check-kernels"
last=$(CI_BUDGET_S=10 bash "$scratch/ci/.ci/run" | tail -5)
rm "$scratch/bin/cmake" "$scratch/bin/nvcc"
expect "ci stops what takes too long" grep -Eq '^asan +[0-9]+  left out: no time$' <<<"$last"

# The words of -DDCGN_CUDA and -DDCGN_MPI.
cat >"$scratch/switch.cmake" <<END
include($root/cmake/DcgnSwitch.cmake)
dcgn_read_switch(DCGN_CUDA asked)
message(STATUS "asked \${asked}")
END
asked() { cmake "-DDCGN_CUDA=$1" -P "$scratch/switch.cmake" 2>&1; }
for word in AUTO:AUTO auto:AUTO ON:ON Yes:ON TRUE:ON 1:ON OFF:OFF No:OFF false:OFF 0:OFF; do
  expect "DCGN_CUDA=${word%:*} is ${word#*:}" test "$(asked "${word%:*}")" = "-- asked ${word#*:}"
done
for word in maybe 2 ""; do
  expect "DCGN_CUDA=$word is refused" grep -q "DCGN_CUDA=$word: expected AUTO, ON or OFF" <<<"$(asked "$word")"
done
exit "$failed"
