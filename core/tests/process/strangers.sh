#!/usr/bin/env bash
# strangers.sh PROGRAM: while a job of three processes runs, a process of another user reads none of its memory, opens none
# of its files, and connects in vain; and when all of them are killed nothing of it is left. Ends with 77 where there is no
# other user to be.
set -u
program=$1 here=$(dirname "$(readlink -f "$0")")
stranger=(setpriv --reuid=65534 --regid=65534 --clear-groups)
[ "$(id -u)" -eq 0 ] && "${stranger[@]}" true || {
  echo "skipped: not root, or no setpriv"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
  echo "$1"
  failures=$((failures + 1))
}
# left: what the system has of ours by name; folders are other tests'.
left() { find /dev/shm /tmp -maxdepth 1 -not -type d -iname '*dcgn*' -newer "$folder/start" 2>/dev/null; }

touch "$folder/start"
bash "$here/launch.sh" -n 3 "$program" lost "$folder" >"$folder/output" 2>&1 &
launched=$!
processes=()
for _ in $(seq 300); do
  processes=()
  for candidate in $(pgrep -f "lost $folder"); do # of this job, and not of another test's by the same program
    ls -l "/proc/$candidate/fd" 2>/dev/null | grep -q memfd:dcgn && processes+=("$candidate")
  done
  [ ${#processes[@]} -eq 3 ] && break
  sleep 0.1
done
[ ${#processes[@]} -eq 3 ] || fail "${#processes[@]} processes share memory, expected 3: ${processes[*]}"

for process in "${processes[@]}"; do
  for file in /proc/"$process"/fd/*; do
    [[ "$(readlink "$file")" == *memfd:dcgn* ]] || continue
    [ "$(stat -L -c %a "$file")" = 600 ] || fail "the shared memory of $process has mode $(stat -L -c %a "$file"), expected 600"
    "${stranger[@]}" cat "$file" >/dev/null 2>&1 && fail "a stranger reads the shared memory of $process"
  done
  "${stranger[@]}" cat "/proc/$process/environ" >/dev/null 2>&1 && fail "a stranger reads the environment of $process"
  "${stranger[@]}" head -c 1 "/proc/$process/mem" >/dev/null 2>&1 && fail "a stranger opens the memory of $process"
  # Whatever port it listens at: who connects and shows nothing is told nothing.
  for inode in $(ls -l "/proc/$process/fd" | sed -n 's/.*socket:\[\([0-9]*\)\]/\1/p'); do
    port=$(awk -v inode="$inode" '$10 == inode && $4 == "0A" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp)
    [ -z "$port" ] && continue
    ports=${ports-}" $((16#$port))"
    answer=$("${stranger[@]}" timeout 1 bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$((16#$port))' && head -c 4096 /dev/zero >&3; cat <&3' 2>/dev/null | wc -c)
    [ "$answer" -eq 0 ] || fail "a stranger is told $answer bytes at port $((16#$port)) of $process"
  done
done
echo "ports tried:${ports-}"
[ -n "${ports-}" ] || fail "no process listens anywhere; expected each to"

kill -9 "${processes[@]}"
wait "$launched"
[ -z "$(left)" ] || fail "left behind: $(left)"
for process in "${processes[@]}"; do
  [ ! -e "/proc/$process/fd" ] || fail "process $process is still there"
done
bash "$here/launch.sh" -n 3 "$program" good "$folder" >"$folder/output" 2>&1
[ "$(cat "$folder"/[0-2] | grep -c '^came to a good end$')" -eq 3 ] || fail "the next job: $(cat "$folder"/[0-2])"
[ -z "$(left)" ] || fail "left behind by the next job: $(left)"
exit $failures
