#!/usr/bin/env bash
# Runs go test with the race detector: the packages of PKG, with the arguments
# of this script for go test. Called by make test, which sets KUBEBUILDER_ASSETS
# to where the real API servers are. Nothing is vetted here: make verify does it.
set -euo pipefail

GO=${GO:-go}
PKG=${PKG:-./...}
race=(-race)
# For each package by itself; the longest takes a quarter of it on two quiet cores.
timeout=45m

# The race detector is linked through cgo on every system but macOS.
if [[ $("$GO" env GOOS) != darwin ]]; then
  if command -v "$("$GO" env CC | cut -d' ' -f1)" >/dev/null; then
    export CGO_ENABLED=1
  else
    export CGO_ENABLED=0
    race=()
    cat >&2 <<'EOT'
*******************************************************************************
*  WARNING: no C compiler was found, so the tests run WITHOUT the race        *
*  detector. Install gcc or clang (or set CC) to run them as CI does.         *
*******************************************************************************
EOT
  fi
fi

# shellcheck disable=SC2086 # PKG may hold several patterns.
packages=$("$GO" list $PKG)
module=$("$GO" list -m)

# among prints those of the packages that are matched, as grep has it.
among() { grep "$@" <<<"$packages" || true; }

# The packages below test/ bring up whole clusters, for which they wait most of
# the time. A small machine bears two of them at a time, the longest first, beside
# the suite of test/integration.
light=$(among -v "^$module/test/")
suite=$(among -xF "$module/test/integration")
heavy=$(among -xF "$module/test/crash"; among "^$module/test/" | grep -vxF -e "$module/test/crash" -e "$module/test/integration" || true)

status=0

# run WHAT PACKAGES ARGUMENTS... does so if there are any packages.
run() {
  local what=$1 list=$2
  shift 2
  [[ -n $list ]] || return 0
  echo "=== test: $(wc -l <<<"$list" | tr -d ' ') packages, $what"
  # shellcheck disable=SC2086 # No package has a space in its name.
  "$GO" test "${race[@]}" -vet=off -timeout "$timeout" $list "$@" || status=1
}

run "side by side" "$light" "$@"
if [[ -z $suite || $# -gt 0 ]]; then
  # Arguments are for go test, which runs the suite like any other package.
  run "two at a time" "$(printf '%s\n' "$suite" "$heavy" | sed '/^$/d')" -p 2 "$@"
  exit $status
fi

# Two processes share the specs of the suite, each with clusters of its own. What it
# prints is shown at its end. Job control puts it into a group of processes, which
# ends with this script.
set -m
output=$(mktemp)
echo "=== test: $suite, in two processes"
"$GO" tool -modfile=go.tools.mod ginkgo "${race[@]}" -vet=off -timeout "$timeout" -procs 2 -no-color ./test/integration >"$output" 2>&1 &
running=$!
# shellcheck disable=SC2064 # As it is now.
trap "kill -- -$running 2>/dev/null || true; rm -f '$output'" EXIT
run "two at a time beside it" "$heavy" -p 2
wait "$running" || status=1
cat "$output"
exit $status
