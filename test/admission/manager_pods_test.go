package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// onNode is a pod on a node; "" means on none.
func onNode(namespace, name, node string) *corev1.Pod {
	pod := newPod(namespace)
	pod.Name, pod.Spec.NodeName = name, node
	pod.Labels, pod.Annotations = map[string]string{"app": "web"}, map[string]string{"note": "1"}
	pod.Finalizers = []string{"example.com/mine"}
	return pod
}

func TestManagerPods(t *testing.T) {
	manager := inConsumer(t)
	namespace := namespaceOf(t, nil)
	offloaded, local, waiting := onNode(namespace, "offloaded", "spillway-eu"), onNode(namespace, "local", "worker-1"), onNode(namespace, "waiting", "")
	prefix, within := onNode(namespace, "prefix", "spillway"), onNode(namespace, "within", "not-spillway-eu")
	costly := onNode(namespace, "costly", "spillway-eu")
	costly.Annotations["controller.kubernetes.io/pod-deletion-cost"] = "5"
	bare := onNode(namespace, "bare", "spillway-eu")
	bare.Labels, bare.Annotations, bare.Finalizers = nil, nil, nil
	for _, pod := range []*corev1.Pod{offloaded, local, waiting, prefix, within, bare, costly} {
		temporary(t, pod)
	}
	const (
		running = `{"status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}`
		shown   = running + `,"metadata":{"annotations":{"spillway.io/remote-namespace":"a","spillway.io/remote-name":"b","spillway.io/remote-uid":"c",` +
			`"spillway.io/remote-for-uid":"d","spillway.io/remote-ip":"10.0.0.1","spillway.io/last-sync-time":"2026-01-02T03:04:05Z"}}}`
		cost   = running + `,"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":`
		opened = `"metadata":{"annotations":{"spillway.io/overflow":"1=2026-01-02T03:04:05Z"}}}`
		late   = `{"spec":{"tolerations":[{"key":"spillway.io/virtual-node","operator":"Equal","value":"eu","effect":"NoSchedule"}]}}`
		imaged = `{"spec":{"containers":[{"name":"c","image":"thief"}]}}`
	)
	attempt(t, map[string]try{
		"the status of an offloaded pod":               {patching(manager, offloaded, shown, "status"), ""},
		"and without annotations":                      {patching(manager, offloaded, running+"}", "status"), ""},
		"the status of a local pod":                    {patching(manager, local, running+"}", "status"), "pod " + namespace + "/local is not on a virtual node"},
		"the status of a waiting pod":                  {patching(manager, waiting, running+"}", "status"), "is not on a virtual node"},
		"the status of a pod on node spillway":         {patching(manager, prefix, running+"}", "status"), "is not on a virtual node"},
		"the status of a pod on not-spillway-eu":       {patching(manager, within, running+"}", "status"), "is not on a virtual node"},
		"the deletion of a pod on node spillway":       {deleting(manager, prefix.DeepCopy()), "is not on a virtual node"},
		"the deletion of a pod on not-spillway-eu":     {deleting(manager, within.DeepCopy()), "is not on a virtual node"},
		"the status of a pod without metadata":         {patching(manager, bare, shown, "status"), ""},
		"its first label, with the status":             {patching(manager, bare, running+`,"metadata":{"labels":{"app":"web"}}}`, "status"), "metadata.labels must not change"},
		"its first annotation, with the status":        {patching(manager, bare, running+`,"metadata":{"annotations":{"note":"1"}}}`, "status"), "metadata.annotations[note] must not change"},
		"its first finalizer, with the status":         {patching(manager, bare, running+`,"metadata":{"finalizers":["example.com/new"]}}`, "status"), "metadata.finalizers must not change"},
		"the removal of a label, with the status":      {patching(manager, offloaded, running+`,"metadata":{"labels":{"app":null}}}`, "status"), "metadata.labels must not change"},
		"one more finalizer, with the status":          {patching(manager, offloaded, running+`,"metadata":{"finalizers":["example.com/mine","example.com/new"]}}`, "status"), "metadata.finalizers must not change"},
		"an annotation like its own, but shorter":      {patching(manager, offloaded, running+`,"metadata":{"annotations":{"spillway.io/remote":"a"}}}`, "status"), "must not change"},
		"an annotation like its own, of others":        {patching(manager, offloaded, running+`,"metadata":{"annotations":{"x.spillway.io/remote-a":"a"}}}`, "status"), "must not change"},
		"an annotation like its own, but longer":       {patching(manager, offloaded, running+`,"metadata":{"annotations":{"spillway.io/last-sync-time-x":"a"}}}`, "status"), "must not change"},
		"the deletion cost of a tier":                  {patching(manager, offloaded, cost+`"-100"}}}`, "status"), ""},
		"the deletion cost of the last tier":           {patching(manager, offloaded, cost+`"-700","spillway.io/remote-uid":"c"}}}`, "status"), ""},
		"a deletion cost that no tier has":             {patching(manager, offloaded, cost+`"-150"}}}`, "status"), "metadata.annotations[controller.kubernetes.io/pod-deletion-cost] must not change"},
		"a deletion cost that protects a pod":          {patching(manager, offloaded, cost+`"100"}}}`, "status"), "must not change"},
		"the deletion cost that a user has set":        {patching(manager, costly, cost+`"-100"}}}`, "status"), "metadata.annotations[controller.kubernetes.io/pod-deletion-cost] must not change"},
		"its removal":                                  {patching(manager, costly, cost+`null}}}`, "status"), "must not change"},
		"a deletion cost, and an annotation of others": {patching(manager, offloaded, cost+`"-100","note":"2"}}}`, "status"), "metadata.annotations[note] must not change"},
		"the deletion cost of a local pod":             {patching(manager, local, cost+`"-100"}}}`, "status"), "is not on a virtual node"},
		"the deletion cost of a waiting pod":           {patching(manager, waiting, `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-100"}}}`), "must not change"},
		"which tiers are open, with tolerations":       {patching(manager, waiting, late[:len(late)-1]+","+opened), ""},
		"which tiers are open, of an offloaded pod":    {patching(manager, offloaded, "{"+opened), "is on node spillway-eu"},
		"which tiers are open, with the status":        {patching(manager, offloaded, running+","+opened, "status"), "metadata.annotations[spillway.io/overflow] must not change"},
		"a label with the status, by somebody else":    {patching(server(t), local, running+`,"metadata":{"labels":{"app":"other"}}}`, "status"), ""},
		"a label, with the status":                     {patching(manager, offloaded, running+`,"metadata":{"labels":{"app":"other"}}}`, "status"), "metadata.labels must not change"},
		"an annotation of others, with the status":     {patching(manager, offloaded, running+`,"metadata":{"annotations":{"note":null}}}`, "status"), "metadata.annotations[note] must not change"},
		"what users say to Spillway, with the status":  {patching(manager, offloaded, running+`,"metadata":{"annotations":{"spillway.io/offload-daemonset":"true"}}}`, "status"), "must not change"},
		"an allowed annotation and one of others":      {patching(manager, offloaded, running+`,"metadata":{"annotations":{"spillway.io/remote-uid":"c","note":"2"}}}`, "status"), "metadata.annotations[note] must not change"},
		"an owner, with the status":                    {patching(manager, offloaded, running+`,"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}}`, "status"), ""}, // The API server ignores it.
		"a finalizer, with the status":                 {patching(manager, offloaded, running+`,"metadata":{"finalizers":null}}`, "status"), "metadata.finalizers must not change"},
		"tolerations of a waiting pod":                 {patching(manager, waiting, late), ""},
		"tolerations of everything":                    {adding(manager, waiting, `[{"op":"add","path":"/spec/tolerations/-","value":{"operator":"Exists"}}]`), "spec.tolerations must not get a toleration of every taint"},
		"tolerations of an offloaded pod":              {patching(manager, offloaded, late), "is on node spillway-eu"},
		"tolerations of a local pod":                   {patching(manager, local, late), "is on node worker-1"},
		"the image of a waiting pod":                   {patching(manager, waiting, imaged), "spec.containers must not change"},
		"the image of a local pod":                     {patching(manager, local, imaged), "is on node worker-1"},
		"the image of an offloaded pod":                {patching(manager, offloaded, imaged), "is on node spillway-eu"},
		"a label of a waiting pod":                     {patching(manager, waiting, `{"metadata":{"labels":{"app":"other"}}}`), "metadata.labels must not change"},
		"an annotation of a waiting pod":               {patching(manager, waiting, `{"metadata":{"annotations":{"spillway.io/remote-uid":"x"}}}`), "must not change"},
		"a finalizer of a waiting pod":                 {patching(manager, waiting, `{"metadata":{"finalizers":null}}`), "metadata.finalizers must not change"},
		"a made-up owner of a waiting pod":             {patching(manager, waiting, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}}`), "metadata.ownerReferences must not change"},
		"the deletion of an offloaded pod":             {deleting(manager, offloaded.DeepCopy()), ""},
		"the deletion of a local pod":                  {deleting(manager, local.DeepCopy()), "pod " + namespace + "/local is not on a virtual node"},
		"the deletion of a waiting pod":                {deleting(manager, waiting.DeepCopy()), "is not on a virtual node"},
		"the deletion of all pods": {func(ctx context.Context) error {
			return manager.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace))
		}, "cannot deletecollection"},
		"the creation of a pod": {creating(manager, newPod(namespace)), "cannot create resource"},
		"the eviction of a local pod, as none can tell": {func(ctx context.Context) error {
			return manager.SubResource("eviction").Create(ctx, local.DeepCopy(), &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
		}, ""},
	})
}

// adding returns a request that adds to a list of an object.
func adding(c client.Client, object client.Object, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		copied, _ := object.DeepCopyObject().(client.Object)
		return c.Patch(ctx, copied, client.RawPatch(types.JSONPatchType, []byte(patch)), client.DryRunAll)
	}
}

func TestManagerEvents(t *testing.T) {
	manager := inConsumer(t)
	namespace := namespaceOf(t, nil)
	foreign, own := told(namespace, "kubelet"), told(namespace, "spillway")
	made(t, foreign)
	made(t, own)
	const none = "the manager may write only its own events"
	attempt(t, map[string]try{
		"tells":                            {creating(manager, told(namespace, "spillway")), ""},
		"tells again":                      {patching(manager, own, `{"count":2,"message":"more"}`), ""},
		"tells as the kubelet":             {creating(manager, told(namespace, "kubelet")), none},
		"tells as one like it":             {creating(manager, told(namespace, "spillways")), none},
		"tells as nobody":                  {creating(manager, told(namespace, "")), none},
		"changes what a kubelet says":      {patching(manager, foreign, `{"message":"all is well"}`), none},
		"takes it over":                    {patching(manager, foreign, `{"reportingComponent":"spillway"}`), none},
		"says who leads":                   {creating(manager, told("spillway-system", "spillway-manager-6d8f_0b1c")), ""},
		"says who leads, by a host's name": {creating(manager, told("spillway-system", "host_0b1c")), ""},
	})
}
