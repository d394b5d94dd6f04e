#!/usr/bin/env bash
# Makes all that a release has, in bin/release and bin/release-extra: programs for five platforms, images
# without Docker, charts, manifests, a manifest for krew, checksums, SBOMs and a changelog. It sends nothing,
# unless PUBLISH=1: then it needs an annotated tag on this commit, credentials for GitHub and the registry, and cosign
# to sign the checksums and the images.
# Called by make release-snapshot.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

GO=${GO:-go}
PUBLISH=${PUBLISH:-}
export GITHUB_OWNER=${GITHUB_OWNER:-spillway-io} # For .goreleaser.yaml.
registry=${REGISTRY:-ghcr.io/$GITHUB_OWNER}
extra=bin/release-extra
start=$SECONDS

say() { printf '##### %4d s: %s\n' $((SECONDS - start)) "$1"; }

# tool builds a pinned tool and makes it a command of this script.
tool() {
  local name=$1 module=$2 path
  say "building $name (minutes when it is the first time)"
  # Without C: syft would need headers that most machines lack.
  path=$(CGO_ENABLED=0 "$GO" tool -modfile="$module" -n "$name")
  ln -sf "$path" "bin/tools/$name"
}

if [[ $PUBLISH == 1 ]]; then # Before half an hour of building.
  command -v cosign >/dev/null || { echo "release: there is no cosign here, which signs what is published" >&2; exit 1; }
fi

mkdir -p bin/tools
export PATH=$PWD/bin/tools:$PATH
tool goreleaser go.release.mod
tool syft go.sbom.mod

if [[ $PUBLISH == 1 ]]; then
  # Without --tags, git describe knows annotated tags only.
  tag=$(git describe --exact-match --match 'v*') || { echo "release: this commit has no annotated tag: git tag -s v1.2.3" >&2; exit 1; }
  [[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "release: tag $tag is not of the form v1.2.3" >&2; exit 1; }
  version=${tag#v}
  arguments=(release --clean)
else
  version=$(git describe --tags --abbrev=0 2>/dev/null || echo v0.0.0)
  version=${version#v}-snapshot.g$(git rev-parse --short HEAD) # A number must not begin with 0.
  # goreleaser knows no commit of a clone without a remote.
  export SNAPSHOT=$version
  arguments=(release --clean --snapshot --skip=sign)
fi
image=$registry/spillway:v$version
hosted=$registry/spillway-hosted:v$version

rm -rf "$extra"
mkdir -p "$extra"

say "changelog"
since=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || true)
{
  echo "# Changes in v$version"
  echo
  git log --no-merges --format='- %s (%h)' "${since:+$since..}HEAD"
} >"$extra/CHANGELOG.md"
echo "$(grep -c '^- ' "$extra/CHANGELOG.md") commits since ${since:-the beginning}"

say "manifests and charts"
make --no-print-directory install-yaml chart DIST="$extra" IMAGE="$image" HOSTED_IMAGE="$hosted" CHART_VERSION="$version"

say "images, for amd64 and arm64"
for arch in amd64 arm64; do
  make --no-print-directory image GOARCH="$arch" DIST="$extra/$arch" IMAGE="$image" HOSTED_IMAGE="$hosted" VERSION="v$version"
  for name in spillway spillway-hosted; do
    mv "$extra/$arch/$name.tar" "$extra/${name}_v${version}_linux_$arch.tar"
  done
  rmdir "$extra/$arch"
done

say "programs, archives, SBOMs, checksums and the manifest for krew"
goreleaser "${arguments[@]}" --release-notes "$extra/CHANGELOG.md"

if [[ $PUBLISH == 1 ]]; then
  for name in spillway spillway-hosted; do
    say "pushing $registry/$name:v$version"
    pushed=$("$GO" run -C hack/image . -push "$registry/$name:v$version" "$PWD/$extra/${name}_v${version}_linux_amd64.tar" "$PWD/$extra/${name}_v${version}_linux_arm64.tar")
    say "signing $pushed"
    cosign sign --yes "$pushed"
  done
  for chart in "$extra"/*.tgz; do
    say "pushing $chart"
    "$GO" tool -modfile=go.helm.mod helm push "$chart" "oci://$registry/charts"
  done
fi
say "done: bin/release has programs, $extra has images, charts, manifests and the changelog"
