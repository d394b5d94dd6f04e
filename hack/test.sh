#!/usr/bin/env bash
# Runs go test with the race detector. Arguments go to go test. Called by make
# test, which sets KUBEBUILDER_ASSETS to where the real API servers are.
set -euo pipefail

GO=${GO:-go}
race=(-race)

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

set -x
exec "$GO" test "${race[@]}" -timeout 20m "$@"
