package podreturn

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/localroom"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/internal/trigger"
)

// TestEvictionAnswers: a refusal is reported, and a lost answer is neither a return nor a refusal.
func TestEvictionAnswers(t *testing.T) {
	budget := &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 2 healthy pods and has 2 currently"}}}
	for name, test := range map[string]struct {
		code                     int // 0: the connection breaks.
		reason                   metav1.StatusReason
		details                  *metav1.StatusDetails
		want, says               string // The reason of the condition, and a part of its message.
		returned, unsure, failed bool
	}{
		"it is evicted":      {code: http.StatusCreated, want: v1alpha1.ReasonReturning, returned: true},
		"it is gone":         {code: http.StatusNotFound, reason: metav1.StatusReasonNotFound},
		"it is another one":  {code: http.StatusConflict, reason: metav1.StatusReasonConflict},
		"a budget refuses":   {code: http.StatusTooManyRequests, reason: metav1.StatusReasonTooManyRequests, details: budget, want: v1alpha1.ReasonEvictionsRefused, says: "PodDisruptionBudget web"},
		"a policy refuses":   {code: http.StatusForbidden, reason: metav1.StatusReasonForbidden, want: v1alpha1.ReasonEvictionsRefused, says: "the answer"},
		"the server is busy": {code: http.StatusTooManyRequests, reason: metav1.StatusReasonTooManyRequests, unsure: true, failed: true},
		"the server fails":   {code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError, unsure: true, failed: true},
		"the answer is lost": {unsure: true, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.code == 0 {
					panic(http.ErrAbortHandler)
				}
				status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Message: "the answer", Reason: test.reason, Details: test.details, Code: int32(test.code)} //nolint:gosec // It is small.
				if test.code >= http.StatusBadRequest {
					status.Status = metav1.StatusFailure
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.code)
				_ = json.NewEncoder(w).Encode(status)
			}))
			defer server.Close()
			r := &Reconciler{Kubernetes: kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL}), Events: events.NewFakeRecorder(1), Clock: testclock.NewFakeClock(builder.Epoch)}
			s, m := room(from(1, "a", 0)), &memory{}
			c, again, err := r.evict(t.Context(), s, plan{move: spill.Move{Pod: 0}, place: "eu", condition: condition{reason: v1alpha1.ReasonReturning}}, m)
			if (err != nil) != test.failed || c.reason != test.want || !strings.Contains(c.message, test.says) {
				t.Errorf("%v, and %s: %s", err, c.reason, c.message)
			}
			if (m.last.Pod == "a") != test.returned || (m.unsure != nil) != test.unsure || (len(m.refused) > 0) != (test.want == v1alpha1.ReasonEvictionsRefused) {
				t.Errorf("it is remembered: %+v", m)
			}
			if again == 0 && err == nil {
				t.Error("nobody looks again")
			}
		})
	}
}

// TestReconcileErrors: an error of the API server is returned, so that the namespace is tried again, and nothing stays of an
// offloading that is gone.
func TestReconcileErrors(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	nso := builder.Offloading("team").Obj()
	nso.Finalizers, nso.Spec.Return = []string{v1alpha1.FinalizerOffloading}, &v1alpha1.ReturnPolicy{}
	broken := errors.New("broken")
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nso).WithStatusSubresource(nso).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return broken
		},
	}).Build()
	r := &Reconciler{Client: c, Local: localroom.New(nil), Clock: testclock.NewFakeClock(builder.Epoch)}
	request := trigger.Offloading("team")
	for what, shared := range map[string]bool{"reading the bindings": false, "writing the status": true} {
		r.Shared = shared
		if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, broken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !r.known.has("team") {
		t.Error("after an error, nothing is remembered")
	}
	if err := c.Get(t.Context(), request.NamespacedName, nso); err != nil {
		t.Fatal(err)
	}
	nso.Finalizers = nil
	if err := errors.Join(c.Update(t.Context(), nso), c.Delete(t.Context(), nso)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request); err != nil || r.known.has("team") {
		t.Errorf("%v; the namespace is remembered: %v", err, r.known.has("team"))
	}
}
