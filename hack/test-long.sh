#!/usr/bin/env bash
# All that make test leaves out (make test-long), part by part, and a row for each in the
# table of docs/testing.md. PART=a,b runs only these. RESUME=1 leaves out what has passed
# at this commit already. Set by make: KUBEBUILDER_ASSETS, and GOFLAGS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/scratch.sh

GO=${GO:-go}
page=docs/testing.md
# In this order: from minutes to hours.
parts=(vulnerabilities alerts docs clusters story writes plugin hosted spill ui hostile crash kinds versions integration integration-long e2e e2e-long e2e-crashes karpenter kueue faults-fast bench faults)

go_test() { "$GO" test -count=1 -vet=off "$@"; }

# target calls make for another target, without the variables of this one.
target() { env -u PART -u RESUME -u MAKEFLAGS -u MAKELEVEL make --no-print-directory "$@"; }

# versions RELEASE... tests against other releases of Kubernetes, as consumer and as provider.
# It goes on after a failure, which it remembers.
versions() {
  local release failed=0
  for release in "$@"; do
    target kube KUBE_VERSION="$release" || return 1
    KUBEBUILDER_ASSETS=$PWD/bin/kube-$release go_test -timeout 30m ./test/admission || failed=1
    go_test -short -timeout 60m ./test/integration -providers="$release" || failed=1
    target e2e ARGS="-consumer=$release" || failed=1
  done
  return "$failed"
}

# run PART runs one part, with all that its tests know.
run() {
  case $1 in
  vulnerabilities) STRICT=1 hack/verify.sh vulnerabilities tidy-long ;;
  clusters | hostile | plugin) go_test -timeout 60m "./test/$1" ;;
  story)
    local failed=0
    target demo STORY=spill || failed=1
    target demo-down && return "$failed"
    ;;
  writes | crash) go_test -timeout 90m "./test/$1" ;;
  hosted)
    go_test -timeout 90m -v -run 'TestNoLostUpdates|TestSeededBugs' ./hosted/merge -interleavings 1000000 &&
      go_test -timeout 60m -v -run 'TestCrash|TestActiveBelieved|TestSharedHandler' ./hosted/test/operator
    ;;
  spill) go_test -timeout 90m -v -run 'TestNoLoopAndNoIdleRoom|TestSeededBugs' ./internal/decide/spill -interleavings 1000000 ;;
  ui) go_test -timeout 30m -v ./test/ui -browser ;;
  versions) versions v1.37.2 v1.35.3 v1.34.5 ;;
  kinds | integration) go_test -race -timeout 120m "./test/$1" ;;
  integration-long) go_test -timeout 60m ./test/integration -ginkgo.label-filter=long ;;
  e2e)
    # The driver of the real node mounts, which is Linux' way.
    { [[ $(uname) != Linux ]] || (cd hack/csi/driver && go_test .); } &&
      target e2e
    ;;
  alerts | docs | bench | faults) target "$1" ;;
  e2e-long) target e2e ARGS=-ginkgo.label-filter=long ;;
  e2e-crashes) target e2e TIMEOUT=120m ARGS=-ginkgo.label-filter=crashes ;;
  karpenter) target karpenter && target e2e ARGS=-ginkgo.label-filter=karpenter SHORT=1 ;;
  kueue) target kueue && target e2e ARGS=-ginkgo.label-filter=kueue SHORT=1 ;;
  faults-fast) target faults FAST=1 ;;
  *)
    echo "make test-long: there is no part $1; there are: ${parts[*]}" >&2
    return 2
    ;;
  esac
}

# note PART MINUTES RESULT writes what came of a part into its row of the table.
note() {
  local date
  date=$(date -u +%F)
  awk -F ' *[|] *' -v OFS=' | ' -v part="$1" -v end="$commit | $date | $2 | $3 |" \
    '$2 == part { print "| " $2, $3, end; next } { print }' "$page" >"$TMPDIR/page"
  cat "$TMPDIR/page" >"$page"
}

commit=$(git rev-parse --short=9 HEAD)
[[ -z $(git status --porcelain -- ':!docs/testing.md') ]] || commit+=+ # With changes that are not committed.
IFS=, read -ra wanted <<<"${PART:-$(IFS=, && echo "${parts[*]}")}"
scratch_begin
trap scratch_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failed=()
for part in "${wanted[@]}"; do
  if [[ ${RESUME:-} == 1 && $commit != *+ ]] && grep -q "^| $part |.*| $commit |.*| passed |" "$page"; then
    echo "=== test-long: $part has passed at $commit"
    continue
  fi
  echo "=== test-long: $part"
  begin=$SECONDS result=passed
  run "$part" || result=FAILED
  [[ $result == passed ]] || failed+=("$part")
  note "$part" $(((SECONDS - begin + 30) / 60)) "$result"
  echo "=== test-long: $part $result after $((SECONDS - begin)) s"
done
if ((${#failed[@]})); then
  echo "=== test-long: FAILED: ${failed[*]}"
  exit 1
fi
echo "=== test-long: passed"
