#!/usr/bin/env bash
# Lets the values of maps of strings be null in the CustomResourceDefinitions that are named:
# so a user says that a key shall be removed. controller-gen has a marker for fields, and
# none for the values of maps. Called by make generate.
set -euo pipefail

for f in "$@"; do
  awk '{ print } /^ *additionalProperties:$/ { sub(/additionalProperties:$/, "  nullable: true"); print }' "$f" >"$f.tmp"
  mv "$f.tmp" "$f"
done
