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

# scripts/install-packages where nothing can be installed, and as one who is not root.
program dpkg-query 'exit 1'
program sudo 'exit 1'
said=$("$root/scripts/install-packages" docs 2>&1)
expect "packages that cannot be installed are an error" test $? -eq 1
expect "which names them" grep -Eq 'mkdocs' <<<"$said"
said=$("$root/scripts/install-packages" --try docs 2>&1)
expect "with --try they are not" test $? -eq 0
expect "but are named" grep -Eq '^install-packages: .*(mkdocs|only root)' <<<"$said"
rm "$scratch/bin/dpkg-query" "$scratch/bin/sudo"

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
# A file of kernels in which `odd` calls `even`, which calls `odd`, and `kernel` both.
python3 - "$scratch/recur.cubin" <<'END'
import struct, sys
strings = b"\0kernel\0odd\0even\0"
symbols = b"".join(struct.pack("<I20x", at) for at in (0, 1, 8, 12))
calls = struct.pack("<8I", 1, 2, 1, 3, 2, 3, 3, 2)
names = b"\0.strtab\0.symtab\0.nv.callgraph\0"
elf, headers = b"\x7fELF".ljust(64, b"\0"), bytes(64)
for name, data in ((1, strings), (9, symbols), (17, calls), (0, names)):
    headers += struct.pack("<IIQQQQ", name, 0, 0, 0, len(elf), len(data)).ljust(64, b"\0")
    elf += data
elf = elf[:40] + struct.pack("<Q10xHHH", len(elf), 64, 5, 4) + elf[64:]
open(sys.argv[1], "wb").write(elf + headers)
END
program cuobjdump "cp '$scratch/recur.cubin' one.cubin"
program nvdisasm "$entry"
said=$(check)
expect "check-kernels finds functions that call themselves" test $? -eq 1
expect "and names them, and not who calls them" test "$(grep -c 'calls itself: one.o: \(odd\|even\)$' <<<"$said") $(grep -c kernel$ <<<"$said")" = "2 0"
rm "$scratch/bin/cuobjdump" "$scratch/bin/nvdisasm"

# .ci/run: the result of a module that has not changed is kept, and of one that failed it is not.
ci=$scratch/ci
mkdir -p "$ci/.ci" "$ci/scripts" "$ci/cmake" "$ci/build/python_env/bin" "$ci"/{stencil,vgpu,memnet}
cp "$root/.ci/run" "$ci/.ci"
program make 'exit 0'
program ctest 'exit 0'
for script in scripts/install-packages scripts/check-kernels build/python_env/bin/pip; do cp "$scratch/bin/make" "$ci/$script"; done
for module in stencil vgpu memnet cmake; do touch "$ci/$module/file"; done
ci_commit() { git -C "$ci" add -A && git -C "$ci" -c user.name=a -c user.email=a@b commit -qm "$1"; }
git -C "$ci" init -q && echo build >"$ci/.gitignore" && ci_commit first
ci_run() { CI_CACHE=$scratch/ci_cache bash "$ci/.ci/run"; }
said=$(ci_run)
expect "ci passes" grep -Eq '^total +[0-9]+  ok$' <<<"$said"
expect "ci runs all modules where it has no results" test "$(grep -c '^=== [at]san' <<<"$said")" -eq 8
said=$(ci_run)
expect "ci keeps results" grep -Eq '^asan memnet +0  ok on 20[-0-9]+, unchanged since$' <<<"$said"
expect "ci runs the core in any case" test "$(grep '^=== [at]san' <<<"$said" | cut -d: -f1 | paste -sd,)" = "=== tsan core,=== asan core"
echo new >"$ci/memnet/file" && ci_commit second
program make 'case $* in *asan*memnet) exit 1 ;; esac'
said=$(ci_run)
expect "ci says that a step failed" grep -Eq '^asan memnet +[0-9]+  FAILED$' <<<"$said"
expect "and that it has failed with it" grep -Eq '^total +[0-9]+  FAILED$' <<<"$said"
said=$(ci_run)
expect "ci keeps no result of what failed" grep -q '^=== asan memnet' <<<"$said"
expect "but of what passed" grep -Eq '^tsan memnet +0  ok on' <<<"$said"
program make 'case $* in *cuda*) sleep 9 ;; esac'
said=$(CI_BUDGET_S=0 ci_run)
expect "ci fails where no time is left" grep -Eq '^compile cuda +[0-9]+  FAILED: no time was left$' <<<"$said"
program make 'case $* in *cuda*) echo "x.cpp:1: error: y"; exit 2 ;; esac'
said=$(ci_run)
expect "ci fails where CUDA is not compiled" grep -Eq '^compile cuda +[0-9]+  FAILED$' <<<"$said"
expect "and says why at its end" grep -q '^x.cpp:1: error: y$' <<<"$(sed -n '/^=== from compile cuda/,$p' <<<"$said")"
rm "$scratch/bin/make" "$scratch/bin/ctest"

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
