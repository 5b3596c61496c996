#!/usr/bin/env bash
# settings.sh DCGN: `dcgn info` shows the settings that the guide has, all of them and no others; each is known, as a
# variable and, where it has a member, as a key of the file.
set -eu
guide=$(sed -n 's/^| `\(DCGN_[A-Z0-9_]*\)`.*/\1/p' "$(dirname "$0")/../../docs/guide/settings.md" | sort)
shown=$("$1" info | sed -n 's/^\(DCGN_[A-Z0-9_]*\) .*/\1/p' | sort)
as_json=$("$1" info --json | sed -n 's/.*"name": "\(DCGN_[A-Z0-9_]*\)".*/\1/p' | sort)
[ -n "$guide" ]
diff <(echo "$guide") <(echo "$shown")
diff <(echo "$guide") <(echo "$as_json")

table=$(dirname "$0")/../../docs/guide/settings.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in $guide; do
  if env "$name=1" "$1" info 2>&1 | grep "no such setting"; then exit 1; fi
done
for name in $(sed -n 's/^| `\(DCGN_[A-Z0-9_]*\)` | `.*/\1/p' "$table"); do
  key=${name#DCGN_}
  echo "${key,,} = 1" >"$work/settings.toml"
  if DCGN_CONFIG=$work/settings.toml "$1" info 2>&1 | grep "unknown key"; then exit 1; fi
done
