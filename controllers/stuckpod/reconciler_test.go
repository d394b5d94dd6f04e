package stuckpod

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/stuckpod"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestActErrors: no pod is deleted while its provider does not answer, or while the status does not show that it is full.
func TestActErrors(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	nso := builder.Offloading("team").Obj()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "1"}}
	broken := errors.New("broken")
	deleted, answer := 0, error(nil)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nso, pod).WithStatusSubresource(nso).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			deleted++
			return nil
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			object.(*v1alpha1.NamespaceOffloading).Status.Full = nil // Its definition is older.
			return answer
		},
	}).Build()
	r := &Reconciler{Client: c, Fleet: fleet.New(fleet.Options{}), Events: events.NewFakeRecorder(9)}
	s := stuckpod.Snapshot{Pod: pod, Binding: builder.Binding("eu").Obj(), Offloading: nso}
	req := inventory.Request{Binding: "eu", NamespacedName: client.ObjectKeyFromObject(pod)}
	status := &v1alpha1.NamespaceOffloadingStatus{Full: []v1alpha1.FullProvider{{Cluster: "eu"}}}
	for name, test := range map[string]struct {
		plan   stuckpod.Plan
		answer error
		failed bool
		again  bool
	}{
		"the provider does not answer":       {plan: stuckpod.Plan{Delete: true, Reason: v1alpha1.ReasonGivenUp}, again: true},
		"the status cannot be written":       {plan: stuckpod.Plan{Status: status}, answer: broken, failed: true},
		"the API server drops the providers": {plan: stuckpod.Plan{Status: status}},
	} {
		answer = test.answer
		result, err := r.act(t.Context(), req, s, test.plan)
		if (err != nil) != test.failed || (result.RequeueAfter > 0) != test.again || deleted > 0 {
			t.Errorf("%s: %v, again after %v, %d pods deleted", name, err, result.RequeueAfter, deleted)
		}
	}
	if r.changed().Delete(event.DeleteEvent{Object: nso}) {
		t.Error("the deletion of an offloading enqueues pods")
	}
	old := nso.DeepCopy()
	if old.ResourceVersion = "0"; r.written.IsStale(old) {
		t.Error("what was written about an offloading that is gone is remembered")
	}
}
