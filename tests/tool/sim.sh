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
booksim=$(mktemp --suffix .cfg)
trap 'rm -f "$trace" "$booksim"' EXIT
# The guide's accepted values of booksim2's keys are accepted, and others are refused for those.
echo "topology = mesh; k = 2; routing_function = dor; sample_period = 100;" >"$booksim"
sed -n '/<!-- begin: booksim2 -->/,/<!-- end: booksim2 -->/{s/^| \(`.*`\|nothing\) | \(.*\) |$/\1 \2/p}' docs/guide/simulator.md | tr -d '`,' |
  { rows=0
  while read -r value keys; do
    while [[ $keys = "or "* ]]; do keys=${keys#or } keys=${keys#* }; done
    for key in $keys; do
      rows=$((rows + 1))
      "$1" sim topo "$booksim" --set "$key=${value/nothing/}" >/dev/null || { echo "$key: $value is not accepted"; exit 1; }
      refused=$("$1" sim topo "$booksim" --set "$key=7" 2>&1) && { echo "$key: 7 is accepted"; exit 1; }
      [[ $refused = *"$key = 7: expected $value"* ]] || { echo "$key: $refused"; exit 1; }
    done
  done
  [ $rows -ge 29 ] || { echo "$rows keys of booksim2 in the guide"; exit 1; }; }
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
[ -s "$trace" ] || exit 0

# Of launches that are alike eight are recorded: the rest of a program takes their mean, and not 5 % more or less.
cycles() {
  "$1" sim record "$2" "$trace" --scale 0 --launches "$3" --json >/dev/null
  "$1" sim run examples/sim/kernels.toml --set kernels.trace="$trace" --csv - | awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "cycles") c = i } NR == 2 { print $c }'
}
for workload in conjugate-gradient walsh survey-propagation barnes-hut; do
  whole=$(cycles "$1" $workload 0) some=$(cycles "$1" $workload 8)
  echo "$workload: $whole cycles, $some with 8 launches of each kernel"
  awk -v a="$whole" -v b="$some" 'BEGIN { exit !(a > 0 && a != b && b < 1.05 * a && b > 0.95 * a) }'
done

# A trace does not depend on where memory is, which what a process is started with moves.
for workload in conjugate-gradient histogram; do
  "$1" sim record $workload "$trace" --scale 0 --json >/dev/null
  sum=$(md5sum <"$trace")
  MOVED=$(printf '%5000d' 0) "$1" sim record $workload "$trace" --scale 0 --blocks 0 --launches 0 --json >/dev/null
  [ "$sum" = "$(md5sum <"$trace")" ] || { echo "$workload: another trace when it is recorded again"; exit 1; }
done
