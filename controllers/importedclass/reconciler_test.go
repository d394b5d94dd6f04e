package importedclass

import (
	"context"
	"errors"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestReplacedAtAPace: a provider that says something else all the time does not have a class
// replaced as often, and one that nobody imports goes at once.
func TestReplacedAtAPace(t *testing.T) {
	binding := builder.Binding("eu").Obj()
	binding.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassPriority, Name: "x", RemoteName: "there", Import: true}}
	all := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(all), v1alpha1.AddToScheme(all)); err != nil {
		t.Fatal(err)
	}
	deleted, now := 0, testclock.NewFakeClock(builder.Epoch)
	c := fake.NewClientBuilder().WithScheme(all).WithObjects(binding).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			deleted++
			return c.Delete(ctx, object, options...)
		},
	}).Build()
	r := &Reconciler{Client: c, Clock: now, replaced: throttle.NewAllowance[Request](fewReplaced, replaceInterval, now)}
	request := Request{v1alpha1.ClassPriority, "x"}
	says := func(value int32) (waits bool) {
		t.Helper()
		binding.Status.Classes = []v1alpha1.ClassStatus{{Kind: v1alpha1.ClassPriority, RemoteName: "there", Value: &value}}
		if err := c.Update(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		for range 2 { // It is deleted, and made again.
			result, err := r.Reconcile(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			waits = waits || result.RequeueAfter > 0
		}
		return waits
	}
	for i := range int32(20) {
		says(i)
	}
	if deleted != fewReplaced {
		t.Errorf("replaced %d times at once", deleted)
	}
	if !says(30) {
		t.Error("nobody comes back to it")
	}
	now.Step(replaceInterval)
	if says(30); deleted != fewReplaced+1 {
		t.Errorf("replaced %d times after a while", deleted)
	}
	class := &schedulingv1.PriorityClass{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "x"}, class); err != nil || class.Value != 30 || ptr.Deref(class.PreemptionPolicy, "") != "Never" {
		t.Errorf("%+v, %v", class, err)
	}
	binding.Spec.Classes = nil
	if says(30); deleted != fewReplaced+2 {
		t.Error("it stays, and nobody imports it")
	}
}
