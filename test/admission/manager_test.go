package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// The tests TestManager… check the rights of the manager's account in the consumer against the shipped
// policies. What the manager does is allowed. What a thief of its token would do is refused.

// managerName is the user name of the shipped account.
const managerName = "system:serviceaccount:spillway-system:spillway-manager"

// inConsumer returns a client with the manager's account.
func inConsumer(t *testing.T) client.Client {
	t.Helper()
	manager, err := server(t).account("spillway-system", "spillway-manager")
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

// untilManagerIsConfined waits until the policies for the manager are in effect.
func untilManagerIsConfined(ctx context.Context, s *apiServer) error {
	manager, err := s.account("spillway-system", "spillway-manager")
	if err != nil {
		return err
	}
	waits := newPod("default")
	waits.Name = "probe"
	plain := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
	claim := claimOf(metav1.ObjectMeta{Namespace: "default", Name: "probe"}, "")
	service := serviceOf(metav1.ObjectMeta{Namespace: "default", Name: "probe"})
	account := accountOf("default", "probe")
	if err := errors.Join(s.Create(ctx, waits), s.Create(ctx, plain), s.Create(ctx, service), s.Create(ctx, claim), s.Create(ctx, account), s.Create(ctx, tokenGrant("default")), s.Create(ctx, volumesGrant())); err != nil {
		return err
	}
	const labels = `{"metadata":{"labels":{"probe":"probe"}}}`
	return untilConfined(ctx, map[string]func(context.Context) error{
		"spillway-manager-objects":     patching(manager, plain, labels),
		"spillway-manager-pods":        patching(manager, waits, labels),
		"spillway-manager-claims":      patching(manager, claim, `{"status":{"capacity":{"storage":"1Gi"}}}`, "status"),
		"spillway-manager-volumes":     creating(manager, volumeOf(metav1.ObjectMeta{Name: "probe"})),
		"spillway-manager-statuses":    patching(manager, service, labels, "status"),
		"spillway-manager-nodes":       creating(manager, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}),
		"spillway-manager-capacities":  patching(manager, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StorageDriver}}, labels),
		"spillway-manager-classes":     creating(manager, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Handler: "runc"}),
		"spillway-manager-leases":      creating(manager, heartbeat("probe", "probe")),
		"spillway-manager-offloadings": creating(manager, offloadingOf("default", "")),
		"spillway-manager-events":      creating(manager, told("default", "probe")),
		"spillway-manager-tokens":      requesting(manager, account, waits),
		"spillway-namespacemaps":       creating(s, mapOf("probe", "team")),
	})
}

// offloadingOf has a label that says what created it.
func offloadingOf(namespace, createdBy string) *v1alpha1.NamespaceOffloading {
	return &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: v1alpha1.OffloadingName, Labels: map[string]string{v1alpha1.LabelCreatedBy: createdBy},
	}}
}

// heartbeat is the Lease of a node.
func heartbeat(node, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](40)},
	}
}

func mapOf(name string, namespaces ...string) *v1alpha1.NamespaceMap {
	nsm := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, namespace := range namespaces {
		nsm.Spec.DesiredMapping = append(nsm.Spec.DesiredMapping, v1alpha1.DesiredMapping{Namespace: namespace, RemoteNamespace: namespace + "-home"})
	}
	return nsm
}

// told is an event of a reporter.
func told(namespace, reporter string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: "event-"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "pod"},
		Type:           corev1.EventTypeWarning, Reason: "Reason", Message: "message",
		ReportingController: reporter, Source: corev1.EventSource{Component: reporter},
	}
}

// virtualNode is a node as the manager creates it, after changes. temporary creates an object as the
// administrator, and deletes it after the test.
func virtualNode(name string, changes ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterBinding", Name: "eu", UID: "uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}}},
	}
	for _, change := range changes {
		change(node)
	}
	return node
}

// temporary has the administrator make an object, and delete it after the test.
func temporary[T client.Object](t *testing.T, object T) T {
	t.Helper()
	return temporaryIn(t, server(t), object)
}

// temporaryIn does so in another API server.
func temporaryIn[T client.Object](t *testing.T, s *apiServer, object T) T {
	t.Helper()
	if err := s.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		released := s.Patch(ctx, object, merge(`{"metadata":{"finalizers":null}}`)) // Nobody else removes them.
		deleted := s.Delete(ctx, object, client.GracePeriodSeconds(0))
		if err := errors.Join(client.IgnoreNotFound(released), client.IgnoreNotFound(deleted)); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return object
}

// patching returns a dry-run request that changes an object or its subresource.
func patching(c client.Client, object client.Object, patch string, subresource ...string) func(context.Context) error {
	how := strategic(patch)
	if kind := fmt.Sprintf("%T", object); strings.Contains(kind, "v1alpha1") || strings.HasSuffix(kind, "Route") {
		how = merge(patch)
	}
	return func(ctx context.Context) error {
		copied, _ := object.DeepCopyObject().(client.Object)
		if len(subresource) > 0 {
			return c.SubResource(subresource[0]).Patch(ctx, copied, how, client.DryRunAll)
		}
		return c.Patch(ctx, copied, how, client.DryRunAll)
	}
}

// creating returns a dry-run request that creates an object.
func creating(c client.Client, object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		copied, _ := object.DeepCopyObject().(client.Object)
		return c.Create(ctx, copied, client.DryRunAll)
	}
}

// deleting returns a dry-run request that deletes an object.
func deleting(c client.Client, object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Delete(ctx, object, client.DryRunAll) }
}

// try is a request, and a part of the refusal that it gets; if empty, it is allowed.
type try struct {
	request func(context.Context) error
	want    string
}

// attempt sends the requests.
func attempt(t *testing.T, tries map[string]try) {
	t.Helper()
	for name, test := range tries {
		t.Run(name, func(t *testing.T) { refused(t, test.request(t.Context()), test.want) })
	}
}
