#!/usr/bin/env bash
# settings.sh DCGN: `dcgn info` shows the settings that the guide has, all of them and no others.
set -eu
guide=$(sed -n 's/^| `\(DCGN_[A-Z0-9_]*\)`.*/\1/p' "$(dirname "$0")/../../docs/guide/settings.md" | sort)
shown=$("$1" info | sed -n 's/^\(DCGN_[A-Z0-9_]*\) .*/\1/p' | sort)
as_json=$("$1" info --json | sed -n 's/.*"name": "\(DCGN_[A-Z0-9_]*\)".*/\1/p' | sort)
[ -n "$guide" ]
diff <(echo "$guide") <(echo "$shown")
diff <(echo "$guide") <(echo "$as_json")
