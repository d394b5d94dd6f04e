#!/usr/bin/env bash
# The quick tests (make test): all that can be told within minutes on two cores. With
# -short, tests leave out what make test-long runs. Called by make, which sets
# KUBEBUILDER_ASSETS to where the real API servers are. Nothing is vetted here: make
# verify does it.
#
# PKG and arguments of this script are for go test, which then runs just that, and
# nothing is left out. With CI=true a test that fails is tried once more; one that passes
# then is named in a line that begins with FLAKY.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/scratch.sh

GO=${GO:-go}
PKG=${PKG:-}
# For each package by itself; the longest takes a quarter of it on two quiet cores.
timeout=20m

# race prints -race if the race detector can be had. It is linked through cgo on
# every system but macOS.
race() {
  if [[ $("$GO" env GOOS) == darwin ]] || command -v "$("$GO" env CC | cut -d' ' -f1)" >/dev/null; then
    echo -race
    return
  fi
  cat >&2 <<'EOT'
*******************************************************************************
*  WARNING: no C compiler was found, so the tests run WITHOUT the race        *
*  detector. Install gcc or clang (or set CC) to run them as CI does.         *
*******************************************************************************
EOT
}

gotestsum() { "$GO" tool -modfile=go.tools.mod gotestsum --format standard-quiet --hide-summary=skipped "$@"; }

# run NAME PACKAGES ARGUMENTS... runs the quick tests of packages.
run() {
  local name=$1 packages=$2 retry=()
  shift 2
  [[ ${CI:-} != true ]] || retry=(--rerun-fails=1 --rerun-fails-run-root-test --rerun-fails-max-failures=5 --rerun-fails-report="$TMPDIR/$name.reruns")
  echo "=== test: $name: $(wc -l <<<"$packages" | tr -d ' ') packages"
  gotestsum --jsonfile "$TMPDIR/$name.events" "${retry[@]}" --packages="$(tr '\n' ' ' <<<"$packages")" -- \
    -short -vet=off -timeout "$timeout" "$@"
}

# report says which tests have passed at the second try, and which were the slowest.
report() {
  # A line says: NAME: 2 runs, 1 failures
  find "$TMPDIR" -maxdepth 1 -name '*.reruns' -exec cat {} + | awk '$(NF-1) < $(NF-3) { sub(/: [0-9]+ runs, .*/, ""); print "FLAKY: " $0 }'
  echo "=== test: the ten slowest"
  cat "$TMPDIR"/*.events | "$GO" tool -modfile=go.tools.mod gotestsum tool slowest --threshold 1s --num 10 || true
}

begin=$SECONDS
scratch_begin
trap scratch_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ -n $PKG || $# -gt 0 ]]; then
  # shellcheck disable=SC2046,SC2086 # PKG may hold several patterns.
  "$GO" test $(race) -vet=off -timeout 60m "$@" ${PKG:-./...}
  exit
fi

packages=$("$GO" list ./...)
module=$("$GO" list -m)
units=$(grep -vE "^$module/(hosted/)?test(/|$)" <<<"$packages")
others=$(grep -E "^$module/(hosted/)?test(/|$)" <<<"$packages" | grep -vx "$module/test/integration")

status=0
# Beside all else, because it takes longest, and waits most of the time. It tries its specs
# again by itself, and not as a whole.
echo "=== test: integration, of which the output comes last"
tries=1
[[ ${CI:-} != true ]] || tries=2
# With -v, go test shows the output of a package that passes.
"$GO" test -v -short -count=1 -vet=off -timeout "$timeout" ./test/integration -ginkgo.no-color -ginkgo.flake-attempts=$tries >"$TMPDIR/integration" 2>&1 &
suite=$!
# A module of its own, so that the product does not depend on what makes images.
(cd hack/image && "$GO" test -vet=off .) || status=1
# shellcheck disable=SC2046 # It is one flag, or none.
run units "$units" $(race) || status=1
# Each interleaving is a goroutine by itself, and the race detector makes it twenty times
# slower: with it, there are but a few.
run interleavings "$module/hosted/merge" -run 'TestNoLostUpdates|TestSeededBugs' || status=1
run spill "$module/internal/decide/spill" -run 'TestNoLoopAndNoIdleRoom|TestSeededBugs' || status=1
# Two at a time, because they wait, too. With the suite, these are twelve control planes at most.
run clusters "$others" -p 2 -count=1 || status=1
wait "$suite" || status=1
cat "$TMPDIR/integration"
report
echo "=== test: $( ((status == 0)) && echo passed || echo FAILED) after $((SECONDS - begin)) s"
exit $status
