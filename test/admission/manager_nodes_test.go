package admission

import (
	"context"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const notVirtual = "must be, and stay, a virtual node"

func TestManagerNodes(t *testing.T) {
	manager := inConsumer(t)
	eu := temporary(t, virtualNode("spillway-eu"))
	stripped := temporary(t, virtualNode("spillway-stripped", func(n *corev1.Node) { n.Labels, n.Spec.Taints = nil, nil }))
	worker := temporary(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}})
	alike := temporary(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-worker", Labels: virtualNode("").Labels}})
	const (
		cordon = `{"spec":{"unschedulable":true}}`
		status = `{"status":{"capacity":{"cpu":"4"},"allocatable":{"cpu":"4"}}}`
		labels = `{"metadata":{"labels":{"region":"eu"},"annotations":{"spillway.io/applied":"{}"}}}`
		taken  = `{"metadata":{"labels":{"spillway.io/node-type":null}}}`
		owned  = `{"metadata":{"labels":{"spillway.io/node-type":"virtual"},"ownerReferences":[{"apiVersion":"offloading.spillway.io/v1alpha1","kind":"ClusterBinding","name":"eu","uid":"uid","controller":true}]}}`
	)
	attempt(t, map[string]try{
		"makes one":                       {creating(manager, virtualNode("spillway-us")), ""},
		"makes one of another name":       {creating(manager, virtualNode("worker-2")), notVirtual},
		"makes one that nothing owns":     {creating(manager, virtualNode("spillway-us", func(n *corev1.Node) { n.OwnerReferences = nil })), notVirtual},
		"makes one that looks local":      {creating(manager, virtualNode("spillway-us", func(n *corev1.Node) { n.Labels = nil })), "metadata.labels[spillway.io/node-type] must be virtual"},
		"makes one for everybody":         {creating(manager, virtualNode("spillway-us", func(n *corev1.Node) { n.Spec.Taints = nil })), "spec.taints must have spillway.io/virtual-node"},
		"makes one with its provider ID":  {creating(manager, virtualNode("spillway-us", func(n *corev1.Node) { n.Spec.ProviderID = "spillway://spillway-us" })), ""},
		"makes one that is a machine":     {creating(manager, virtualNode("spillway-us", func(n *corev1.Node) { n.Spec.ProviderID = "aws:///z/i-0" })), "spec.providerID must be spillway://spillway-us"},
		"makes one with pods of others":   {creating(manager, virtualNode("spillway-us", func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.1.0.0/24", []string{"10.1.0.0/24"} })), "spec.podCIDRs must not be set"},
		"says that it is a machine":       {patching(manager, eu, `{"spec":{"providerID":"aws:///z/i-0"}}`), "spec.providerID must be spillway://spillway-eu"},
		"says its provider ID":            {patching(manager, eu, `{"spec":{"providerID":"spillway://spillway-eu"}}`), ""},
		"says its name":                   {patching(manager, eu, `{"status":{"addresses":[{"type":"Hostname","address":"spillway-eu"}]}}`, "status"), ""},
		"says where it is":                {patching(manager, eu, `{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`, "status"), "status.addresses may have only one address"},
		"says that it has a kubelet":      {patching(manager, eu, `{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}}`, "status"), ""},
		"says where its kubelet is":       {patching(manager, eu, `{"status":{"addresses":[{"type":"Hostname","address":"10.0.0.9"}]}}`, "status"), ""},
		"says that there are two":         {patching(manager, eu, `{"status":{"addresses":[{"type":"Hostname","address":"10.0.0.9"},{"type":"Hostname","address":"10.0.0.8"}]}}`, "status"), "status.addresses may have only one address"},
		"labels it":                       {patching(manager, eu, labels), ""},
		"cordons it":                      {patching(manager, eu, cordon), ""},
		"writes its status":               {patching(manager, eu, status, "status"), ""},
		"deletes it":                      {deleting(manager, eu.DeepCopy()), ""},
		"takes the label off":             {patching(manager, eu, taken), "metadata.labels[spillway.io/node-type] must be virtual"},
		"takes the label off, by status":  {patching(manager, eu, taken, "status"), "metadata.labels[spillway.io/node-type] must be virtual"},
		"takes the taint off":             {patching(manager, eu, `{"spec":{"taints":null}}`), "spec.taints must have"},
		"takes the owner off":             {patching(manager, eu, `{"metadata":{"ownerReferences":null}}`), notVirtual},
		"cordons what has lost its marks": {patching(manager, stripped, cordon), ""},
		"gives them back":                 {patching(manager, stripped, `{"metadata":{"labels":{"spillway.io/node-type":"virtual"}},"spec":{"taints":[{"key":"spillway.io/virtual-node","effect":"NoSchedule"}]}}`), ""},
		"labels a worker":                 {patching(manager, worker, labels), notVirtual},
		"cordons a worker":                {patching(manager, worker, cordon), notVirtual},
		"writes the status of a worker":   {patching(manager, worker, status, "status"), notVirtual},
		"deletes a worker":                {deleting(manager, worker.DeepCopy()), notVirtual},
		"takes a worker over":             {patching(manager, alike, owned), notVirtual},
		"deletes a worker of such a name": {deleting(manager, alike.DeepCopy()), notVirtual},
		"takes a worker over, by status":  {patching(manager, alike, owned, "status"), notVirtual},
	})
}

func TestManagerLeases(t *testing.T) {
	manager := inConsumer(t)
	eu, worker := temporary(t, heartbeat("spillway-lease", "spillway")), temporary(t, heartbeat("worker-lease", "worker-lease"))
	alike := temporary(t, heartbeat("spillway-kubelet", "spillway-kubelet"))
	leader := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-system", Name: "spillway-manager"}}
	foreign := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-system", Name: "foreign"}}
	for _, lease := range []*coordinationv1.Lease{leader, foreign} {
		lease.Spec.HolderIdentity = ptr.To("somebody")
		temporary(t, lease)
	}
	updating := func(lease *coordinationv1.Lease) func(context.Context) error {
		lease = lease.DeepCopy()
		return func(ctx context.Context) error {
			lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
			return manager.Update(ctx, lease, client.DryRunAll)
		}
	}
	const neither = "is neither the Lease of a virtual node"
	attempt(t, map[string]try{
		"makes one":                      {creating(manager, heartbeat("spillway-us", "spillway")), ""},
		"renews it":                      {updating(eu), ""},
		"deletes it":                     {deleting(manager, eu.DeepCopy()), ""},
		"renews a worker's":              {updating(worker), neither},
		"deletes a worker's":             {deleting(manager, worker.DeepCopy()), neither},
		"makes a worker's":               {creating(manager, heartbeat("worker-2", "spillway")), neither},
		"renews that of a worker alike":  {updating(alike), "Lease kube-node-lease/spillway-kubelet, held by spillway-kubelet, " + neither},
		"deletes that of a worker alike": {deleting(manager, alike.DeepCopy()), neither},
		"renews that of the replicas":    {updating(leader), ""},
		"renews another one beside it":   {updating(foreign), neither},
	})
}
