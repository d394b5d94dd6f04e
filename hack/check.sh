#!/usr/bin/env bash
# Before each commit (make check), within two minutes: format, build, lint, and the unit
# tests without the race detector. What has not changed comes from Go's and the linter's
# caches.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

GO=${GO:-go}
hack/verify.sh format
"$GO" build ./...
hack/verify.sh lint
module=$("$GO" list -m)
# shellcheck disable=SC2046 # A list of packages.
"$GO" test -short -vet=off $("$GO" list ./... | grep -v "^$module/test/")
echo "check passed after $SECONDS s"
