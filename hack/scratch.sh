#!/usr/bin/env bash
# Sourced by what runs tests: scratch_begin sets TMPDIR to a folder of this run's own.
# First it clears the folders of runs that have ended, however they ended, with the
# processes that they have left, which have that TMPDIR too.

scratch_begin() {
  [[ -z ${SPILLWAY_SCRATCH:-} ]] || return 0 # Whoever has called this script has begun.
  local root dir pid
  root=${TMPDIR:-/tmp}/spillway-$(id -u)
  for dir in "$root"/run.*; do
    pid=${dir##*.}
    if [[ -d $dir ]] && { [[ $pid == "$$" ]] || ! kill -0 "$pid" 2>/dev/null; }; then
      scratch_clear "$dir"
    fi
  done
  scratch_owner=$$
  export TMPDIR=$root/run.$$ SPILLWAY_SCRATCH=1
  mkdir -p "$TMPDIR"
}

# scratch_end clears the folder of this run, if this script has made it.
scratch_end() {
  [[ ${scratch_owner:-} != "$$" ]] || scratch_clear "$TMPDIR"
}

# scratch_clear ends the processes of a run but this one, and removes its folder.
scratch_clear() {
  local file pid
  for file in /proc/[0-9]*/environ; do
    pid=${file//[^0-9]/}
    if [[ $pid != "$$" ]] && grep -qsz "^TMPDIR=$1\$" "$file"; then
      kill -9 "$pid" 2>/dev/null || true
    fi
  done
  rm -rf "$1"
}
