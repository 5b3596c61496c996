#!/usr/bin/env bash
# dcgn wall as a user calls it: pictures, reports and mistakes.
set -euo pipefail
dcgn=$1 programs=$2 layout=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "$1" >&2
  exit 1
}

# The demonstration: a picture of the wall, and how far apart its screens were.
"$dcgn" wall demo --layout 2x2:120x90 --frames 8 -o demo.png >report.txt
grep -q '^8 frames, 8 pictures in ' report.txt || fail "no pictures: $(cat report.txt)"
grep -q '^screens apart: [01] picture at most' report.txt || fail "screens that are apart: $(cat report.txt)"
[[ $(head -c 8 demo.png | od -An -tx1) == " 89 50 4e 47 0d 0a 1a 0a" ]] || fail "no PNG"

# Balanced, the picture is the same; and the slowest screen alone.
"$dcgn" wall demo --layout 2x2:120x90 --frames 8 --exact -o exact.png >report.txt
"$dcgn" wall demo --layout 2x2:120x90 --frames 8 --balance on --alone -o balanced.png >report.txt
cmp exact.png balanced.png || fail "another picture: $(cat report.txt)"
grep -q '^the wall was cut anew' report.txt || fail "not balanced: $(cat report.txt)"
grep -q '^screen [01],[01] alone takes .* % of its rate$' report.txt || fail "not alone: $(cat report.txt)"

# A layout from a file, with bezels; the program after --.
"$dcgn" wall snapshot --layout "$layout" -o snapshot.png --frames 3 --json report.json -- "$programs/wall_lists" >/dev/null
grep -q '"width": 984' report.json || fail "another wall: $(cat report.json)"
[[ -s snapshot.png ]] || fail "no snapshot"

# A script, and a picture at a signal.
printf '0 key a 1 1\n2 mouse left down 30 40\n' >events.txt
"$dcgn" wall run --headless --layout 2x1:120x180 --replay events.txt --frames 5 -- "$programs/wall_events" >report.txt
grep -q '^2 events' report.txt || fail "other events: $(cat report.txt)"
# On stdout the report is alone, whatever the program prints.
printf '#!/bin/sh\necho hello\nexec %s\n' "$programs/wall_events" >hello
chmod +x hello
"$dcgn" wall run --headless --layout 2x1:120x180 --replay events.txt --frames 5 --json - -- ./hello >report.json 2>said.txt
[[ $(head -c 1 report.json) == "{" ]] || fail "more than the report: $(cat report.json)"
grep -q '^hello$' said.txt || fail "the program's words are lost: $(cat said.txt)"

# Keys from the script end the program, and with it the wall.
printf '3 key 27 1 1\n' >events.txt
"$dcgn" wall run --headless --layout 2x1:120x180 --replay events.txt -- "$programs/wall_events" >report.txt
grep -q '^4 frames' report.txt || fail "did not end by a key: $(cat report.txt)"

"$dcgn" wall run --headless --layout 2x1:120x180 --snapshot now.png -- "$programs/wall_idle" >report.txt 2>&1 &
wall=$!
for _ in $(seq 100); do
  sleep 0.1
  kill -USR1 "$wall" 2>/dev/null || fail "the wall has ended: $(cat report.txt)"
  [[ -s now.png ]] && break
done
kill "$wall"
[[ -s now.png ]] || fail "no picture at SIGUSR1"

# Mistakes: one line each, with its exit code.
expect() { # <exit code> <text> <argument>...
  local code=0 wanted=$1 text=$2
  shift 2
  "$dcgn" wall "$@" >out.txt 2>err.txt || code=$?
  [[ $code == "$wanted" ]] || fail "exit code $code, expected $wanted: $* $(cat err.txt)"
  [[ $(wc -l <err.txt) == 1 ]] || fail "not one line: $(cat err.txt)"
  grep -qF -- "$text" err.txt || fail "not said: $text in $(cat err.txt)"
}
expect 3 'expected a file of TOML' run --layout none.toml -- true
expect 2 '--deadline 1e+300: expected from 0.001 to 1e9 seconds' run --layout 1x1:9x9 --deadline 1e300 -- true
expect 2 '--step 1e-12: expected from 1e-06 to 1e9 ms' run --layout 1x1:9x9 --step 1e-12 -- true
expect 3 '/no/such: No such file or directory' run --headless --layout 1x1:9x9 -- /no/such
expect 3 'expected a file of events' run --layout 1x1:9x9 --replay none.txt -- true
expect 2 'expected --frames too' run --layout 1x1:9x9 --random 3 -- true
expect 2 'expected --frames too' run --layout 1x1:9x9 --alone -- true
expect 2 "--balance: 'sometimes': expected on, off" run --layout 1x1:9x9 --balance sometimes -- true
expect 1 'expected one that is linked to freeglut' run --headless --layout 1x1:9x9 -- true
