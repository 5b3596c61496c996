#!/usr/bin/env bash
# completion.sh DCGN: what shells are given completes commands, options and files; each shell that is here takes its own.
set -eu
dcgn=$1
source <("$dcgn" completion bash)

# complete WORD...: what may become of the last one, sorted.
complete_words() {
  COMP_WORDS=(dcgn "$@") COMP_CWORD=$#
  COMPREPLY=()
  _dcgn || true
  printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
# expect EXPECTED WORD...
expect() {
  local expected=$1 found
  shift
  found=$(complete_words "$@")
  [[ $found == "$expected" ]] && return
  echo "dcgn $*: completes to '$found', expected '$expected'" >&2
  exit 1
}
expect 'demo doctor' d
expect 'cahn-hilliard cannon' demo c
expect '--size --slots --strip' demo mandelbrot --s
expect '--size --slots --strip' demo mandelbrot --cpus 2 --s # behind a value, too
expect '' demo mandelbrot --output some                      # a value: the shell's own, which are files
expect '' nonsense x
[[ $(complete_words demo mandelbrot --size) == --size ]]

for shell in bash zsh fish; do
  text=$("$dcgn" completion "$shell")
  grep -q mandelbrot <<<"$text"
  if command -v "$shell" >/dev/null; then "$shell" -n <(printf '%s\n' "$text"); fi
done
if "$dcgn" completion csh 2>/dev/null; then
  echo "completion csh: expected a refusal" >&2
  exit 1
fi
