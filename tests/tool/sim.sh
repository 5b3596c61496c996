#!/usr/bin/env bash
# sim.sh DCGN: the guide's table of keys is the command's; every configuration in examples/sim/ runs.
set -eu
cd "$(dirname "$0")/../.."
if [[ $("$1" --help) != *"  sim "* ]]; then
  echo "built without measurements: nothing is tested"
  exit 0
fi
# To write it anew: dcgn sim keys --markdown
diff <("$1" sim keys --markdown) <(sed -n '/<!-- begin: keys -->/,/<!-- end: keys -->/{/^|/p}' docs/guide/simulator.md)
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
[[ $("$1" sim --help) != *"  record "* ]] || "$1" sim record k-means "$trace" --scale 0 --json >/dev/null
for file in examples/sim/*.toml; do
  case $(cat "$file") in
    *'[kernels]'*)
      [ -s "$trace" ] || continue # built without a virtual GPU
      less=kernels.trace=$trace
      ;;
    *'[requests]'*) less=requests.count=200 ;;
    *'[system]'*) less=system.sample_requests=200 ;;
    *) less=run.measure=1000 ;;
  esac
  echo "$file"
  "$1" sim run "$file" --set "$less" --json >/dev/null
done
