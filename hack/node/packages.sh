#!/usr/bin/env bash
# Installs what a real node needs (see test/e2e/node): containerd, runc, CNI
# plugins, a static busybox and nftables, on Debian and its relatives, as root.
# Where that cannot be, it says why and exits with 0: the end-to-end tests then
# leave out what needs a real node, and say so too. No service is left running.
set -euo pipefail

packages=(containerd runc containernetworking-plugins busybox-static iproute2 nftables)

say() { echo "packages: $*"; }

skip() {
  say "NOT installed: $*. The end-to-end tests will run without a real node."
  exit 0
}

missing() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

[[ $(uname) == Linux ]] || skip "this is $(uname), not Linux"
command -v apt-get >/dev/null || skip "there is no apt-get; install containerd, runc, CNI plugins and busybox by other means"
mapfile -t wanted < <(missing)
if ((${#wanted[@]} == 0)); then
  say "everything is installed"
  exit 0
fi
[[ $EUID == 0 ]] || skip "it takes root to install ${wanted[*]}"

export DEBIAN_FRONTEND=noninteractive
# Without this, dpkg would start a containerd as a service of the machine.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 0755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
say "installing ${wanted[*]}"
log=$(mktemp)
if ! { apt-get update && apt-get install -y --no-install-recommends "${wanted[@]}"; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  skip "apt-get failed (above: the end of $log)"
fi
rm -f "$log"
say "done"
