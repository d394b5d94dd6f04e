# shellcheck shell=bash
# download.sh is a part of build.sh: it downloads official binaries of Kubernetes and etcd.

# download puts the programs of a download into $tmp/bin. It fails if they have to be built instead, which only
# KUBE=auto allows. A file with another SHA-256 than the published one ends everything.
download() {
    local os arch
    read -r os arch < <("$go" env GOOS GOARCH | tr '\n' ' ')
    plan download
    local programs=("${downloads[@]}") version etcd from
    version=$(module_version k8s.io/kubernetes)
    etcd=$(module_version go.etcd.io/etcd/server/v3)
    from=${KUBE_MIRROR:-https://dl.k8s.io/release}/$version/bin/$os/$arch
    etcd_from=${KUBE_MIRROR:+$KUBE_MIRROR/etcd}
    etcd_from=${etcd_from:-https://github.com/etcd-io/etcd/releases/download}/$etcd
    etcd_archive=etcd-$etcd-$os-$arch.tar.gz
    [[ $os == linux ]] || { instead "there are official binaries of kube-apiserver for Linux only"; return; }
    command -v curl >/dev/null && command -v sha256sum >/dev/null || { instead "curl and sha256sum are needed to download"; return; }
    curl -fsSL --connect-timeout 3 --max-time 3 -o /dev/null "$from/kube-apiserver.sha256" 2>"$tmp/log" ||
        { instead "no answer within 3 s from ${from%%/v[0-9]*}: $(tail -n 1 "$tmp/log")"; return; }
    say "downloading ${programs[*]} of Kubernetes $version"
    mkdir -p "$tmp/down"
    (fetch_all "$from" "${programs[@]}") 2>"$tmp/log" &
    child=$!
    watch_child downloading count_bytes || { instead "the download failed: $(tail -n 1 "$tmp/log")"; return; }
    check_sums "${programs[@]}"
}

# instead says why the programs are built, or ends if they must be downloaded.
instead() {
    [[ $kube != download ]] || die "KUBE=download: $1"
    say "building from source: $1"
    return 1
}

get() { curl -fsSL --connect-timeout 10 --retry 3 -o "$tmp/down/$1" "$2"; }

# fetch_all downloads the programs, and their sums.
fetch_all() {
    local from=$1 program
    shift
    for program in "$@"; do
        if [[ $program == etcd ]]; then
            get SHA256SUMS "$etcd_from/SHA256SUMS" && get "$etcd_archive" "$etcd_from/$etcd_archive" || return
        else
            get "$program.sha256" "$from/$program.sha256" && get "$program" "$from/$program" || return
        fi
    done
}

# check_sums compares each file with its published sum, and moves the programs into place.
check_sums() {
    local program file want
    for program in "$@"; do
        file=$program
        if [[ $program == etcd ]]; then
            file=$etcd_archive
            want=$(awk -v f="$file" '$2 == f || $2 == "*" f { print $1 }' "$tmp/down/SHA256SUMS")
        else
            want=$(awk 'NR == 1 { print $1 }' "$tmp/down/$program.sha256")
        fi
        [[ $(sha256sum "$tmp/down/$file" | cut -d ' ' -f 1) == "$want" ]] || die "the SHA-256 of $file is not the published one: $want"
        if [[ $program == etcd ]]; then
            tar -xzf "$tmp/down/$file" -C "$tmp/down" --strip-components=1 "${file%.tar.gz}/etcd" || die "cannot unpack $file"
        fi
        chmod +x "$tmp/down/$program" && mv "$tmp/down/$program" "$tmp/bin/" || die "cannot install $program"
    done
}

# shellcheck disable=SC2329 # called by watch_child
count_bytes() { printf '%d MiB, ' "$(($(du -sk "$tmp/down" | cut -f 1) / 1024))"; }
