#!/usr/bin/env bash
# network.sh PROGRAM: between two hosts, two processes on each, a network that is slow and loses packets changes nothing,
# and one that is cut ends the job in all of them, which name those that they do not hear any more.
set -u
program=$1 here=$(dirname "$(readlink -f "$0")")
. "$here/at_once.sh"

# expect HOW COUNT PATTERN VARIABLE=VALUE...: so many of the four processes say what matches.
expect() {
  local how=$1 count=$2 pattern=$3 told
  env "${@:4}" timeout 100 bash "$here/two_hosts.sh" tcp -- "$program" "$how" "$folder" >"$folder/output" 2>&1
  if [ $? -eq 77 ]; then
    echo "$how with ${*:4}: $(grep skipped "$folder/output")"
    return
  fi
  touch "$root/tried"
  told=$(grep -l -E "$pattern" "$folder"/[0-9] 2>/dev/null | wc -l)
  [ "$told" -eq "$count" ] || fail "$how with ${*:4}: $told say '$pattern', expected $count, in:
$(head -n 12 "$folder"/*)"
}

at_once expect good 4 '^came to a good end$' QUEUE="tbf rate 20mbit burst 4kb limit 6kb" # a queue so short that packets are lost
at_once expect good 4 '^came to a good end$' QUEUE="netem delay 20ms 5ms loss 2% reorder 5%"
lost() { expect lost 4 '^process [0-3] .*does not answer' CUT="$folder/running"; }
at_once lost
wait
[ -e "$root/tried" ] || exit 77
end_all
