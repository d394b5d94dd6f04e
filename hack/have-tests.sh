#!/usr/bin/env bash
# Fails, saying so, when there are no tests yet in the directory $1: go test
# would pass over it in silence.
set -euo pipefail

if ! compgen -G "$1/*_test.go" >/dev/null; then
  echo "$1 has no tests yet: there is nothing to run" >&2
  exit 1
fi
