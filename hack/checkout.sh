#!/usr/bin/env bash
# Puts the files of the commit $1 into the directory $2, and builds its manager
# there, in bin/manager. It does nothing if that was done before.
set -euo pipefail

commit=$(git rev-parse --verify "$1^{commit}") || {
  echo "there is no commit $1 here: a shallow clone has to fetch it first" >&2
  exit 1
}
dir=$2
if [[ -x $dir/bin/manager && $(cat "$dir/.commit" 2>/dev/null) == "$commit" ]]; then
  exit 0
fi
rm -rf "$dir"
mkdir -p "$dir"
git archive "$commit" | tar -x -C "$dir"
(cd "$dir" && "${GO:-go}" build -o bin/manager ./cmd/manager)
echo "$commit" >"$dir/.commit"
echo "built the manager of $commit"
