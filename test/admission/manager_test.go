package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// Tests whose names begin with TestManager hold what the manager's account may do
// in the consumer against what is shipped: what the manager does is allowed, and
// what a thief of its token would do is refused.

// managerName is the name of the shipped account.
const managerName = "system:serviceaccount:spillway-system:spillway-manager"

// inConsumer applies config/default, once, and is the client of the manager's account.
func inConsumer(t *testing.T) client.Client {
	t.Helper()
	if err := install(); err != nil {
		t.Fatal(err)
	}
	manager, err := managerClient()
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

func managerClient() (client.Client, error) {
	config := rest.CopyConfig(administrator)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: managerName,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:spillway-system", "system:authenticated"},
	}
	return client.New(config, client.Options{Scheme: server.Scheme()})
}

// install leaves out what the API server has already, and the manager itself.
var install = sync.OnceValue(func() error {
	ctx := context.Background() // What is applied outlives the first test that needs it.
	shipped, err := manifests.Kustomized(ctx, "config/default")
	if err != nil {
		return err
	}
	shipped = manifests.Without(shipped, "CustomResourceDefinition", "Deployment", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
	if err := manifests.Create(ctx, server, shipped); err != nil {
		return err
	}
	manager, err := managerClient()
	if err != nil {
		return err
	}
	return untilManagerIsConfined(ctx, manager)
})

// untilManagerIsConfined waits until each of the policies refuses, in a dry run,
// what it is there for.
func untilManagerIsConfined(ctx context.Context, manager client.Client) error {
	waits := newPod("default")
	waits.Name = "probe"
	plain := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
	if err := errors.Join(server.Create(ctx, waits), server.Create(ctx, plain)); err != nil {
		return err
	}
	labels := merge(`{"metadata":{"labels":{"probe":"probe"}}}`)
	for policy, probe := range map[string]func() error{
		"spillway-manager-objects": func() error { return manager.Patch(ctx, plain.DeepCopy(), labels, client.DryRunAll) },
		"spillway-manager-pods":    func() error { return manager.Patch(ctx, waits.DeepCopy(), labels, client.DryRunAll) },
		"spillway-manager-nodes": func() error {
			return manager.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, client.DryRunAll)
		},
		"spillway-manager-leases": func() error { return manager.Create(ctx, heartbeat("probe", "probe"), client.DryRunAll) },
		"spillway-manager-offloadings": func() error {
			return manager.Create(ctx, offloadingOf("default", ""), client.DryRunAll)
		},
		"spillway-manager-events": func() error { return manager.Create(ctx, told("default", "probe"), client.DryRunAll) },
		"spillway-namespacemaps":  func() error { return server.Create(ctx, mapOf("probe", "team"), client.DryRunAll) },
	} {
		var last error
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			last = probe()
			return last != nil && strings.Contains(last.Error(), "'"+policy+"'"), nil
		})
		if err != nil {
			return fmt.Errorf("waiting until policy %s is in effect: %w", policy, errors.Join(err, last))
		}
	}
	return nil
}

// offloadingOf has a label that says what made it.
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

// virtualNode is a node as the manager makes them, after changes.
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
	made(t, object)
	t.Cleanup(func() { _ = server.Delete(context.Background(), object, client.GracePeriodSeconds(0)) })
	return object
}

// patching is a request that changes an object, or a subresource of it, in a dry run.
func patching(c client.Client, object client.Object, patch string, subresource ...string) func(context.Context) error {
	how := client.RawPatch(types.StrategicMergePatchType, []byte(patch))
	if strings.Contains(fmt.Sprintf("%T", object), "v1alpha1") {
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

func creating(c client.Client, object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Create(ctx, object, client.DryRunAll) }
}

func deleting(c client.Client, object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Delete(ctx, object, client.DryRunAll) }
}

// try is a request, and what is part of its refusal; it is allowed if that is empty.
type try struct {
	request func(context.Context) error
	want    string
}

// attempt makes the requests.
func attempt(t *testing.T, tries map[string]try) {
	t.Helper()
	for name, test := range tries {
		t.Run(name, func(t *testing.T) { refused(t, test.request(t.Context()), test.want) })
	}
}
