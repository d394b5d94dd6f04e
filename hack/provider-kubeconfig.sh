#!/usr/bin/env bash
# Prints the kubeconfig by which a consumer uses this cluster as a provider. Run
# by the provider's administrator; see usage below.
set -euo pipefail
umask 077

usage() {
  cat <<'EOF'
Usage: hack/provider-kubeconfig.sh [flags] > eu.kubeconfig

Prints a kubeconfig with which a consumer uses this cluster as a provider: the
address, the CA certificate, and a token of the ServiceAccount that
dist/provider.yaml makes. It is self-contained and holds nothing else, which is
all that Spillway accepts. Whoever has it can do what the ClusterRole
spillway-consumer allows, until the token expires, and that includes reading all
Secrets of this cluster (docs/operations.md): treat it as a password.

  1. The provider's administrator, in the provider:
       kubectl apply -f dist/provider.yaml
       hack/provider-kubeconfig.sh --kubeconfig admin.kubeconfig > eu.kubeconfig
  2. The platform engineer, in the consumer:
       kubectl create secret generic eu-kubeconfig -n spillway-system --from-file=kubeconfig=eu.kubeconfig
     and a ClusterBinding whose kubeconfigSecretRef.name is eu-kubeconfig.

Rotation: the token expires. Before it does, make a new one in the same way and
replace the Secret; Spillway sees that and uses it:
       kubectl create secret generic eu-kubeconfig -n spillway-system --from-file=kubeconfig=eu.kubeconfig \
         --dry-run=client -o yaml | kubectl replace -f -
     (kubectl apply would keep a copy of the token in an annotation of the Secret)
To end all access at once: kubectl delete serviceaccount spillway-consumer -n spillway-provider

Flags:
  --kubeconfig FILE        the administrator's own kubeconfig; its current context is used
                           (default: $KUBECONFIG or ~/.kube/config, as kubectl does)
  --namespace NAME         namespace of the ServiceAccount (default spillway-provider; the policies
                           of dist/provider.yaml confine nobody in any other)
  --service-account NAME   the ServiceAccount (default spillway-consumer), of at most 63 characters: what the
                           consumer makes here carries the name as the label spillway.io/account
  --duration DURATION      lifetime of the token, such as 24h (default 720h); the API server
                           may grant less: the script prints when it expires
  --server URL             address at which the consumer reaches this cluster's API server
                           (default: that of the administrator's kubeconfig)
  --help                   print this

The environment variable KUBECTL names the kubectl to use (default kubectl).
EOF
}

die() {
  echo "provider-kubeconfig: error: $*" >&2
  exit 1
}

note() { echo "provider-kubeconfig: $*" >&2; }

kubeconfig=
namespace=spillway-provider
service_account=spillway-consumer
duration=720h
server=

while (($# > 0)); do
  case $1 in
  --help | -h)
    usage
    exit 0
    ;;
  --kubeconfig=* | --namespace=* | --service-account=* | --duration=* | --server=*)
    set -- "${1%%=*}" "${1#*=}" "${@:2}"
    continue
    ;;
  --kubeconfig | --namespace | --service-account | --duration | --server)
    [[ $# -ge 2 && -n $2 ]] || die "$1 needs a value; see --help"
    name=${1#--}
    printf -v "${name//-/_}" '%s' "$2"
    shift 2
    ;;
  *) die "unknown argument $1; see --help" ;;
  esac
done

read -r -a kubectl <<<"${KUBECTL:-kubectl}"
command -v "${kubectl[0]}" >/dev/null || die "${kubectl[0]} was not found: install kubectl, or set KUBECTL (make kube builds bin/kube/kubectl)"
[[ -z $kubeconfig ]] || {
  [[ -r $kubeconfig ]] || die "cannot read $kubeconfig"
  kubectl+=(--kubeconfig "$kubeconfig")
}

# Everything about the cluster, with files that the kubeconfig refers to read in.
cluster() {
  "${kubectl[@]}" config view --raw --minify --flatten -o "jsonpath={.clusters[0].cluster.$1}"
}

[[ -n $server ]] || server=$(cluster server)
[[ $server == https://?* ]] || die "the address of the API server must begin with https://, not be '$server'; see --server"
[[ $server =~ ^[!-~]+$ && $server != *[\"\\]* ]] || die "the address of the API server has characters that no address has: $server"

# The CA of the administrator's kubeconfig, or the one that Kubernetes gives to
# every pod.
ca=$(cluster certificate-authority-data)
[[ -n $ca ]] || {
  note "the administrator's kubeconfig has no CA certificate; taking that of ConfigMap kube-root-ca.crt"
  ca=$("${kubectl[@]}" get configmap kube-root-ca.crt -n "$namespace" -o 'jsonpath={.data.ca\.crt}' | base64 | tr -d '\n')
  [[ -n $ca ]] || die "no CA certificate was found, and Spillway does not connect without one"
}
# The name that the certificate is for, where that is not the address.
tls_server_name=$(cluster tls-server-name)
[[ $tls_server_name =~ ^[A-Za-z0-9.:-]*$ ]] || die "tls-server-name has characters that no name has: $tls_server_name"

"${kubectl[@]}" get serviceaccount "$service_account" -n "$namespace" -o name >/dev/null ||
  die "ServiceAccount $service_account of namespace $namespace is not to be had, see above; if it is not there: dist/provider.yaml (make install-yaml writes it)" \
    "makes spillway-consumer in spillway-provider, and docs/operations.md says how another one is made"
[[ ${#service_account} -le 63 ]] ||
  die "the name of ServiceAccount $service_account is longer than a label can be (63 characters): the policies would let it write nothing"
[[ $namespace == spillway-provider ]] ||
  note "warning: no policy confines ServiceAccount $service_account, because it is in namespace $namespace: those of dist/provider.yaml are for namespace spillway-provider"
granted=$("${kubectl[@]}" create token "$service_account" -n "$namespace" --duration "$duration" \
  -o 'jsonpath={.status.token} {.status.expirationTimestamp}') || die "the API server gave no token for $duration; see above"
read -r token expires <<<"$granted"
[[ -n $token ]] || die "the API server gave no token"

cat <<EOF
apiVersion: v1
kind: Config
current-context: provider
contexts:
- name: provider
  context:
    cluster: provider
    user: $service_account
clusters:
- name: provider
  cluster:
    server: "$server"
    certificate-authority-data: $ca${tls_server_name:+
    tls-server-name: $tls_server_name}
users:
- name: $service_account
  user:
    token: $token
EOF
note "the token is of ServiceAccount $service_account in namespace $namespace, for $server"
note "warning: it expires at $expires ($duration were asked for), and then nothing reaches this cluster any more:" \
  "make a new one before, and replace the Secret in the consumer (Rotation in --help). The ClusterBinding warns of it (ExpiresSoon)"
