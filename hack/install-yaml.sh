#!/usr/bin/env bash
# Writes dist/install.yaml, what a consumer's administrator applies (install-shard.yaml
# for replicas that share the bindings, install-webhook.yaml before Kubernetes 1.36;
# hosted.yaml besides, for hosted clusters), and
# dist/provider.yaml, what a provider's administrator applies (provider-trusted.yaml where
# both clusters have one owner). Called by make
# install-yaml, which sets DIST, IMAGE, HOSTED_IMAGE and KUSTOMIZE.
set -euo pipefail

dist=${DIST:?the directory to write to}
image=${IMAGE:?the container image of the manager}
hosted_image=${HOSTED_IMAGE:?the container image of the operator of hosted clusters}
read -r -a kustomize <<<"${KUSTOMIZE:?the command that runs kustomize}"

# The manifests name the images, which are put in place by text: kustomize edit
# would change a file that is under version control.
shipped=ghcr.io/spillway-io/spillway:dev
hosted_shipped=ghcr.io/spillway-io/spillway-hosted:dev

# Written to the side first, so that a failure leaves no half a manifest.
write() {
  local target=$1 source=$2
  "${kustomize[@]}" build "$source" | sed "s|$shipped|$image|; s|$hosted_shipped|$hosted_image|" >"$target.tmp"
  mv "$target.tmp" "$target"
  echo "wrote $target"
}

write "$dist/install.yaml" config/default
write "$dist/install-shard.yaml" config/shard
write "$dist/install-webhook.yaml" config/webhook
write "$dist/provider.yaml" config/provider
write "$dist/provider-trusted.yaml" config/provider-trusted
write "$dist/hosted.yaml" config/hosted
