#!/usr/bin/env bash
# Runs go test with the race detector: the packages of PKG, with the arguments
# of this script for go test. Called by make test, which sets KUBEBUILDER_ASSETS
# to where the real API servers are.
set -euo pipefail

GO=${GO:-go}
PKG=${PKG:-./...}
race=(-race)
# For each package by itself; the longest takes half of it on two quiet cores.
timeout=45m

# The race detector is linked through cgo on every system but macOS.
if [[ $("$GO" env GOOS) != darwin ]]; then
  if command -v "$("$GO" env CC | cut -d' ' -f1)" >/dev/null; then
    export CGO_ENABLED=1
  else
    export CGO_ENABLED=0
    race=()
    cat >&2 <<'EOF'
*******************************************************************************
*  WARNING: no C compiler was found, so the tests run WITHOUT the race        *
*  detector. Install gcc or clang (or set CC) to run them as CI does.         *
*******************************************************************************
EOF
  fi
fi

# The packages below test/ bring up whole clusters. Two of them at a time are
# what a small machine bears. The longest, which waits for clusters most of its
# time, goes first, and has the others beside it.
#
# shellcheck disable=SC2086 # PKG may hold several patterns.
packages=$("$GO" list $PKG)
module=$("$GO" list -m)
light=$(grep -v "^$module/test/" <<<"$packages" || true)
longest=$module/test/integration
heavy=$(grep -xF "$longest" <<<"$packages" || true; grep "^$module/test/" <<<"$packages" | grep -vxF "$longest" || true)

status=0

# run WHAT PACKAGES ARGUMENTS... does so if there are any packages.
run() {
  local what=$1 list=$2
  shift 2
  [[ -n $list ]] || return 0
  echo "=== test: $(wc -l <<<"$list" | tr -d ' ') packages, $what"
  # shellcheck disable=SC2086 # No package has a space in its name.
  "$GO" test "${race[@]}" -timeout "$timeout" $list "$@" || status=1
}

run "side by side" "$light" "$@"
run "two at a time" "$heavy" -p 2 "$@"
exit $status
