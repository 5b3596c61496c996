#!/usr/bin/env bash
# Plants the defects *.patch one at a time in a copy of the tree, and has the suite's tests find each: run.sh [N...] takes
# those of these numbers, 00 none; run.sh --check only says whether all of them still apply.
#
# What stands before a patch is for this script: `breaks:` what is wrong then, `tests:` the files that are to notice, as
# FOLDER/NAME for core/tests/FOLDER/NAME_test.cpp or `explore` for its first seeds, and perhaps `preset:` another one than cpu,
# and `processes:` how many there are, that share no memory, in tests that are for several. A defect that none of them
# notices fails, and so does a test that fails without any.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
tree=$root/build/planted/tree
limit=${DCGN_PLANTED_LIMIT:-60} # seconds for a test program
log=$root/build/planted/log

# apply FOLDER OPTION... PATCH: with git, for which the folder is part of no repository.
apply() { (cd / && git apply --directory="${1#/}" "${@:2}"); }
field() { sed -n "/^diff /q;s/^$1: //p" "$2"; }

if [[ ${1-} == --check ]]; then
  failed=0
  for patch in "$here"/*.patch; do
    apply "$root" --check "$patch" || failed=1
    for test in $(field tests "$patch"); do
      [[ $test == explore || -e $root/core/tests/${test}_test.cpp ]] || { echo "${patch##*/}: no core/tests/${test}_test.cpp" && failed=1; }
    done
    [[ $(field breaks "$patch") ]] || { echo "${patch##*/}: nothing says what it breaks" && failed=1; }
  done
  exit "$failed"
fi

# programs TEST...: theirs, each once.
programs() { printf '%s\n' "$@" | sed 's,/.*,,;/^explore$/!s/^/test_/' | awk '!seen[$0]++'; }

# build PRESET TEST...: the programs, of these files alone.
build() {
  local preset=$1 files flags=
  shift
  [[ $preset != cpu ]] || flags='-O1 -DNDEBUG' # which compiles faster
  files=$(tr ' ' '|' <<<"$*")
  (cd "$tree" && cmake --preset "$preset" ${flags:+"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=$flags"} -DDCGN_BUILD_TOOL=OFF -DDCGN_BUILD_BENCH=OFF \
    -DDCGN_BUILD_EXAMPLES=OFF -DDCGN_PYTHON=OFF -DDCGN_MPI=OFF -DDCGN_TEST_FILES="$files" &&
    cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}" --target $(programs "$@")) >"$log" 2>&1
}

# How a test noticed, from what it said.
manner() {
  local said=$1 code=$2
  if grep -q 'ThreadSanitizer: data race' "$said"; then echo 'data race (TSan)'
  elif grep -q 'AddressSanitizer' "$said"; then echo 'bad address (ASan)'
  elif ((code == 124)); then echo 'no end'
  elif grep -q 'contains(' "$said"; then echo 'wrong report'
  elif grep -q 'deadlock: ' "$said"; then echo 'deadlock report'
  elif grep -q 'the deadline of' "$said"; then echo 'deadline'
  elif ((code > 128)); then echo "signal $((code - 128))"
  else echo 'wrong result'; fi
}

# find_out PRESET PROCESSES TEST...: runs the programs until one fails; says which test, and how.
find_out() {
  local preset=$1 processes=$2 program said=$root/build/planted/said code test options launcher=()
  shift 2
  ((processes < 2)) || launcher=(env DCGN_SHARE=off bash "$here/../process/launch.sh" -n "$processes")
  for program in $(programs "$@"); do
    options=(--gtest_color=no --gtest_fail_fast)
    [[ $program != explore ]] || options=(--seeds 0-7)
    ((processes < 2)) || [[ $program == test_process ]] || options+=('--gtest_filter=*OverProcesses*')
    timeout -k 5 "$limit" "${launcher[@]}" "$tree/build/$preset/bin/$program" "${options[@]}" >"$said" 2>&1
    code=$?
    ((code == 0)) && continue
    # What failed; where the program did not come to its end, what it was at.
    test=$(sed -n 's/^\[  FAILED  \] \([^ ,]*\).*/\1/p' "$said" | head -1)
    [[ $test ]] || test=$(sed -n 's/^\[ RUN      \] //p' "$said" | tail -1)
    [[ $program != explore ]] || test=$(sed -n 's/^.*explore --subjects \([a-z]*\) --strategies \([a-z]*\).*/\1 \2/p' "$said" | tail -1)
    found="${program#test_}.${test// /.}" how=$(manner "$said" "$code")
    cp "$said" "$root/build/planted/said-$number"
    return 0
  done
  return 1
}

cd "$root" || exit
mkdir -p "$tree"
while read -r -d '' file; do # what has not changed is not compiled again
  cmp -s "$file" "$tree/$file" || { mkdir -p "$tree/${file%/*}" && cp "$file" "$tree/$file"; } || exit
done < <(find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0)
numbers=("$@")
if ((${#numbers[@]} == 0)); then
  numbers=(00)
  for patch in "$here"/*.patch; do numbers+=("$(basename "$patch" | cut -d- -f1)"); done
fi
for number in "${numbers[@]}"; do
  [[ $number == 00 ]] || ls "$here/$number"-*.patch >/dev/null 2>&1 || { echo "no patch of number $number in $here" && exit 2; }
done
failed=0
row='%-3s %-72s %-62s %-26s %8s\n'
printf "$row" no. defect 'found by' how seconds
for number in "${numbers[@]}"; do
  patch=$(ls "$here/$number"-*.patch 2>/dev/null)
  found=nobody how=- preset=cpu processes=1
  if [[ $number == 00 ]]; then
    breaks=none
    mapfile -t tests < <(for p in "$here"/*.patch; do [[ $(field preset "$p")$(field processes "$p") ]] || field tests "$p"; done | tr ' ' '\n' | sort -u)
  else
    breaks=$(field breaks "$patch") preset=$(field preset "$patch")
    preset=${preset:-cpu} processes=$(field processes "$patch")
    read -ra tests < <(field tests "$patch")
    apply "$tree" "$patch" || exit
  fi
  if ! build "$preset" "${tests[@]}"; then
    how='does not build' && failed=1 && cp "$log" "$log-$number"
    began=$SECONDS
  else
    began=$SECONDS
    find_out "$preset" "${processes:-1}" "${tests[@]}" && caught=1 || caught=0
    ((caught == (10#$number > 0))) || failed=1
  fi
  printf "$row" "$number" "$breaks" "$found" "$how" "$((SECONDS - began))"
  [[ $number == 00 ]] || apply "$tree" -R "$patch" || exit
done
exit "$failed"
