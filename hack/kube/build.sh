#!/usr/bin/env bash
# build.sh puts the programs of real Kubernetes clusters into bin/kube, and does nothing when they are up to date.
# It needs Go and git, no root and no Docker.
#
# KUBE says where they come from:
#   build     Everything is compiled from Go modules: one multicall binary (kube-apiserver, kube-controller-manager,
#             kube-scheduler, etcd, kubectl, kubelet, kube-proxy), CoreDNS, kwok and kwokctl. The first time, this
#             takes about 8 minutes on two cores.
#   download  The official binaries of kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and etcd are
#             downloaded, and checked by the SHA-256 that is published with them. kwok and kwokctl are compiled. This
#             works on Linux. The programs of a node are missing: make e2e builds them.
#   auto      The default: download if the server answers within three seconds, and otherwise build.
# KUBE_MIRROR is the URL of a server that has the files of dl.k8s.io/release, and those of etcd's releases in etcd.
#
# With KUBE_VERSION, kube-apiserver, kube-controller-manager and kube-scheduler of an older release go into
# bin/kube-$KUBE_VERSION, with links to the rest. Each such release is a module of its own, in a folder here.
# Usage: [GO=go] [KUBE=auto] [KUBE_MIRROR=URL] [KUBE_VERSION=v1.34.5] hack/kube/build.sh [--force]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
go=${GO:-go}
release=${KUBE_VERSION:-}
kube=${KUBE:-auto}
if [[ -z $release ]]; then
    module=$here
    out=$root/bin/kube
    sources=("$module"/go.mod "$module"/go.sum "$module"/*.go "$module"/coredns/*.go)
else
    module=$here/${release%.*}
    out=$root/bin/kube-$release
    sources=("$module"/go.mod "$module"/go.sum)
fi
stamp=$out/.stamp
# Seconds between two progress lines when nobody watches a terminal.
interval=15
tmp=
child=
export CGO_ENABLED=0 # static binaries, and no C compiler needed
export GOWORK=off    # each module here is one of its own

. "$here/download.sh"

# plan lists the programs: those that are compiled, from which packages, those that are links, and to what, and
# those that are downloaded. $1 is build or download.
plan() {
    binaries=(kwok kwokctl) packages=(sigs.k8s.io/kwok/cmd/kwok sigs.k8s.io/kwok/cmd/kwokctl)
    links=() target=kube downloads=(kube-apiserver kube-controller-manager kube-scheduler)
    case ${release:+older-}$1 in
    build)
        binaries+=(kube coredns) packages+=(. ./coredns) downloads=()
        # kube looks at the name that it is started under.
        links=(kube-apiserver kube-controller-manager kube-scheduler etcd kubectl kubelet kube-proxy)
        ;;
    download) downloads+=(kubectl etcd) ;;
    older-build)
        binaries=("${downloads[@]}") packages=("${downloads[@]/#/k8s.io/kubernetes/cmd/}") downloads=()
        links=(etcd kubectl kwok kwokctl) target=../kube
        ;;
    older-download) binaries=() packages=() links=(etcd kubectl kwok kwokctl) target=../kube ;;
    esac
    want_stamp="$1 $fingerprint"
}

say() { printf 'kube: %s\n' "$*"; }
die() {
    printf 'kube: error: %s\n' "$*" >&2
    exit 1
}

# shellcheck disable=SC2329 # called by the traps
clean_up() {
    local status=$?
    trap - EXIT INT TERM
    if [[ -n $child ]]; then kill "$child" 2>/dev/null || true; fi
    if [[ -n $tmp ]]; then rm -rf "$tmp"; fi
    exit "$status"
}

# module_version prints the version that go.mod names for a module.
module_version() { awk -v m="$1" '$1 == m { print $2; exit }' "$module/go.mod"; }

check_release() {
    [[ -z $release || (-f $module/go.mod && $(module_version k8s.io/kubernetes) == "$release") ]] || {
        module=$here
        die "KUBE_VERSION=$release: there is no such release in hack/kube; there are:$(awk '$1 == "k8s.io/kubernetes" { printf " %s", $2 }' "$here"/v*/go.mod), and without KUBE_VERSION $(module_version k8s.io/kubernetes)"
    }
}

check_go() {
    local want
    want=$(awk '$1 == "go" { print $2; exit }' "$module/go.mod")
    command -v "$go" >/dev/null || die "needs Go >= $want in PATH (https://go.dev/dl)"
    # With GOTOOLCHAIN=auto an older Go fetches the right one by itself here.
    go_version=$(cd "$module" && "$go" env GOVERSION 2>/dev/null) ||
        die "needs Go >= $want; found $(cd / && "$go" version), and it could not fetch a newer one"
    # With GOTOOLCHAIN=local it does not even try.
    [[ $(printf '%s\n' "go$want" "$go_version" | sort -V | head -n 1) == "go$want" ]] ||
        die "needs Go >= $want; found $go_version"
}

# fingerprint identifies what would be built; git is used as the one hash
# program that every machine with a clone has.
fingerprint() {
    {
        echo "$go_version" "$("$go" env GOOS GOARCH | tr '\n' ' ')"
        cat "${sources[@]}" "$here"/*.sh
    } | git hash-object --stdin
}

# programs prints the planned programs. (An empty array is an error in the bash of macOS.)
programs() { echo ${binaries[@]+"${binaries[@]}"} ${links[@]+"${links[@]}"} ${downloads[@]+"${downloads[@]}"}; }

# up_to_date reports whether the programs are there. What was built has all that a download has.
up_to_date() {
    local how program
    for how in build download; do
        [[ $how == build || $kube != build ]] || continue
        plan "$how"
        [[ -f $stamp && $(<"$stamp") == "$want_stamp" ]] || continue
        for program in $(programs); do
            [[ -x $out/$program ]] || continue 2
        done
        return 0
    done
    return 1
}

# take_lock lets one build at a time run. Without flock (macOS) two builds cost
# time but do no harm: each has its own directory, and files move atomically.
take_lock() {
    command -v flock >/dev/null || return 0
    exec 9>"$root/bin/.kube.lock"
    flock -n 9 && return
    say "another build is running: waiting for it"
    flock 9
}

# watch_child WHAT COUNTER waits for the background process $child and shows, now
# and then, WHAT, what COUNTER prints, and how long it has taken.
watch_child() {
    local what=$1 counter=$2 begin=$SECONDS next=$interval took
    while kill -0 "$child" 2>/dev/null; do
        took=$((SECONDS - begin))
        if [[ -t 1 ]]; then
            printf '\r\033[Kkube: %s: %s%ds' "$what" "$("$counter")" "$took"
        elif ((took >= next)); then
            say "$what: $("$counter")${took}s"
            next=$((next + interval))
        fi
        sleep 1
    done
    if [[ -t 1 ]]; then printf '\r\033[K'; fi
    local status=0
    wait "$child" || status=$?
    child=
    return "$status"
}

# shellcheck disable=SC2329 # called by watch_child
no_count() { :; }

# shellcheck disable=SC2329 # called by watch_child
count_packages() {
    # go build -v names each package that it compiles; those in the build cache
    # already are not named, so that the total is an upper bound.
    local count
    count=$(wc -l <"$tmp/log")
    if ((count == 0)); then
        printf 'nothing compiled yet (checking the build cache, or linking), '
    else
        printf '%d of at most %d packages compiled, ' "$count" "$total"
    fi
}

# show_failure prints what explains a failed go command: all from the first
# compiler error on, or else the end of its output.
show_failure() {
    if grep -q '^# ' "$1"; then
        sed -n '/^# /,$p' "$1" | head -n 60 >&2
    else
        tail -n 20 "$1" >&2
    fi
}

resolve() {
    say "resolving modules (the first time this downloads them)"
    (cd "$module" && exec "$go" list -deps "${packages[@]}" >"$tmp/deps" 2>"$tmp/log") &
    child=$!
    watch_child "resolving modules" no_count || {
        show_failure "$tmp/log"
        die "could not resolve the modules of ${module#"$root/"}: is the Go module proxy ($("$go" env GOPROXY)) reachable?"
    }
    total=$(wc -l <"$tmp/deps")
}

compile() {
    local version minor k=k8s.io/component-base/version
    version=$(module_version k8s.io/kubernetes)
    minor=${version#v1.}
    # A fixed date and commit: the same sources give the same binary.
    local ldflags="-s -w -X $k.gitVersion=$version -X $k.gitMajor=1 -X $k.gitMinor=${minor%%.*}
        -X $k.gitCommit=unknown -X $k.gitTreeState=clean -X $k.buildDate=1970-01-01T00:00:00Z"
    local long=
    if ((${#downloads[@]} == 0)); then long=" of Kubernetes $version (6 to 8 minutes on two cores the first time)"; fi
    say "building ${binaries[*]}$long"
    : >"$tmp/log"
    # Unlike go build, go run keeps what it links in the build cache. Here, it runs cp.
    (cd "$module" && trap 'kill "$!" 2>/dev/null' TERM && for i in "${!packages[@]}"; do
        "$go" run -v -ldflags "${ldflags//$'\n'/ }" -exec cp "${packages[i]}" "$tmp/bin/${binaries[i]}" 2>>"$tmp/log" &
        wait "$!" || exit
    done) &
    child=$!
    watch_child building count_packages || {
        show_failure "$tmp/log"
        die "the build failed (above: what the compiler said)"
    }
}

install_all() {
    local program
    mkdir -p "$out"
    rm -f "$stamp"
    for program in ${links[@]+"${links[@]}"}; do
        if [[ $target == kube ]]; then ln -s kube "$tmp/bin/$program"; else ln -s "$target/$program" "$tmp/bin/$program"; fi
    done
    # Renames: a cluster that runs from the old files goes on undisturbed.
    mv -f "$tmp"/bin/* "$out/"
    printf '%s\n' "$want_stamp" >"$tmp/stamp"
    mv -f "$tmp/stamp" "$stamp"
}

main() {
    [[ $# -eq 0 || $* == --force ]] || die "usage: hack/kube/build.sh [--force]"
    command -v git >/dev/null || die "needs git in PATH"
    check_release
    [[ $kube == auto || $kube == build || $kube == download ]] || die "KUBE=$kube: must be auto, build or download"
    check_go
    fingerprint=$(fingerprint)
    if [[ $# -eq 0 ]] && up_to_date; then return; fi
    mkdir -p "$root/bin"
    take_lock
    if [[ $# -eq 0 ]] && up_to_date; then return; fi
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    tmp=$(mktemp -d "$root/bin/.kube.XXXXXX")
    mkdir "$tmp/bin"
    local begin=$SECONDS
    local how=build
    if [[ $kube != build ]] && download; then how=download; fi
    plan "$how"
    if ((${#binaries[@]})); then
        resolve
        compile
    fi
    install_all
    say "done in $((SECONDS - begin))s: ${out#"$root/"}"
}

main "$@"
