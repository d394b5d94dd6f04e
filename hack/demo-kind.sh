#!/usr/bin/env bash
# The demo on kind, where containers run: a consumer and the providers eu and us, each a cluster of kind, the
# manager as a pod, and two offloaded namespaces. Needs Docker, kind and kubectl. NODE_IMAGE is another image of kind's
# nodes, APP_IMAGE another one for the pods. Called by make demo CLUSTERS=kind (up) and make demo-down CLUSTERS=kind (down).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

app=${APP_IMAGE:-registry.k8s.io/e2e-test-images/agnhost:2.53}
export KUBECONFIG=$PWD/bin/demo-kind/kubeconfig
export PATH=$PWD/bin:$PATH
start=$SECONDS

say() { printf '##### %4d s: %s\n' $((SECONDS - start)) "$1"; }

home() { kubectl --context kind-spillway-consumer "$@"; }

for program in docker kind kubectl; do
  command -v "$program" >/dev/null || { echo "demo: there is no $program here; make demo needs none" >&2; exit 1; }
done

if [[ ${1:-} == down ]]; then
  for name in consumer eu us; do kind delete cluster --name "spillway-$name"; done
  rm -rf bin/demo-kind
  exit
fi
[[ ${1:-} == up ]] || { echo "usage: hack/demo-kind.sh up | down" >&2; exit 2; }
mkdir -p bin/demo-kind
docker info >/dev/null || { echo "demo: Docker does not answer" >&2; exit 1; }

# A known issue of several clusters of kind on Linux: many distributions allow 128, and then pods fail with "too many open
# files". Elsewhere Docker runs in a virtual machine of its own.
instances=$(cat /proc/sys/fs/inotify/max_user_instances 2>/dev/null || echo 512)
if ((instances < 512)); then
  echo "demo: warning: with $instances inotify instances, pods of kind may fail with \"too many open files\". To allow more until the next start:" >&2
  echo "  sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288" >&2
fi

clusters=$(kind get clusters 2>/dev/null)
for name in consumer eu us; do
  if grep -qx "spillway-$name" <<<"$clusters"; then
    kind export kubeconfig --name "spillway-$name" # bin may have been removed.
    continue
  fi
  say "cluster $name"
  # Without NODE_IMAGE it is the image of this release of kind: others need not work.
  kind create cluster --name "spillway-$name" --wait 5m ${NODE_IMAGE:+--image "$NODE_IMAGE"}
done

say "the manager"
CGO_ENABLED=0 GOOS=linux "${GO:-go}" build -trimpath -o bin/demo-kind/manager ./cmd/manager
# Another program has another tag, so that its pods are replaced.
image=ghcr.io/spillway-io/spillway:demo-$(cksum <bin/demo-kind/manager | cut -d' ' -f1)
"${GO:-go}" run -C hack/image . -program "$PWD/bin/demo-kind/manager" -image "$image" -version demo -arch "$("${GO:-go}" env GOARCH)" -out "$PWD/bin/demo-kind/spillway.tar"
kind load image-archive bin/demo-kind/spillway.tar --name spillway-consumer
home config use-context kind-spillway-consumer
kubectl spillway install --image "$image" --cluster-id demo

for name in eu us; do
  say "provider $name"
  # The nodes of all clusters are in one network of Docker, where they know each other's names.
  kubectl spillway bind "$name" --provider-context "kind-spillway-$name" --provider-server "https://spillway-$name-control-plane:6443" \
    --label "topology.kubernetes.io/region=$name,region=$name"
done

say "two teams"
home apply -f hack/demo/manifests/team-a.yaml -f hack/demo/manifests/team-b.yaml
for team in team-a team-b; do
  kubectl spillway offload "$team" --timeout 2m
  home apply -n "$team" -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "$app", args: [netexec, --http-port=80], resources: {requests: {cpu: 50m, memory: 32Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
END
done
for team in team-a team-b; do home rollout status deployment/web -n "$team" --timeout 5m; done

say "what there is"
for name in consumer eu us; do kubectl --context "kind-spillway-$name" get nodes; done
home get clusterbindings
home get pods -A -l app=web -o wide
cat <<END

Try:  export KUBECONFIG=$KUBECONFIG PATH=$PWD/bin:\$PATH
      kubectl spillway status
      kubectl exec -n team-a deploy/web -- hostname
      kubectl logs -n team-a deploy/web
End:  make demo-down CLUSTERS=kind
END
