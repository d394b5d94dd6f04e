package namespaceoffloading

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// none counts the pods on virtual nodes: there are none.
type none struct{}

func (none) Remaining(context.Context, string, string) (eviction.Remaining, error) {
	return eviction.Remaining{}, nil
}

// TestPodsThatCannotBeEvicted: a pod that waits for a virtual node, and that the API server
// does not let be evicted, holds up the deletion of the offloading no longer than deletionTimeout.
func TestPodsThatCannotBeEvicted(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		answer *apierrors.StatusError
		says   string
	}{
		"somebody changes it all the time": {apierrors.NewConflict(pods, "waits", errors.New("version 7 is none")), "somebody changed it at the same time"},
		"a webhook refuses it":             {apierrors.NewForbidden(pods, "waits", errors.New("not today")), `pods "waits" is forbidden: not today`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(int(test.answer.ErrStatus.Code))
				test.answer.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
				_ = json.NewEncoder(w).Encode(test.answer.ErrStatus)
			}))
			defer server.Close()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waits", CreationTimestamp: metav1.NewTime(builder.Epoch.Add(-time.Hour)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "1", Controller: ptr.To(true)}}}}
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{admission.OnVirtual}}}}}}
			nso := builder.Offloading("team").Finalizers(v1alpha1.FinalizerOffloading).Deleted(0).Obj()
			nsm := builder.Map("eu").Obj()
			nsm.Status.ObservedGeneration = 1
			recorder, clock := events.NewFakeRecorder(100), clocktesting.NewFakePassiveClock(builder.Epoch)
			r := &Lifecycle{
				Client:     fake.NewClientBuilder().WithScheme(scheme).WithObjects(nso, pod, nsm, builder.Binding("eu").DeletionTimeout(time.Hour).Obj()).Build(),
				Kubernetes: kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL}), Counter: none{}, Inventory: inventory.New(nil), Events: recorder, Clock: clock,
			}
			reconcile := func() (ctrl.Result, error) {
				return r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(nso)})
			}
			there := func() bool { return r.Client.Get(t.Context(), client.ObjectKeyFromObject(nso), nso) == nil }
			if result, err := reconcile(); !there() || err == nil && result.RequeueAfter == 0 {
				t.Errorf("at first: there: %v, %v, %v", there(), result, err)
			}
			if got := r.Inventory.RefusedWaiting("team")[client.ObjectKeyFromObject(pod)]; got != test.says {
				t.Errorf("the status says %q, want %q", got, test.says)
			}
			clock.SetTime(builder.Epoch.Add(time.Hour))
			if _, err := reconcile(); err != nil || there() {
				t.Errorf("after deletionTimeout: there: %v, %v", there(), err)
			}
			close(recorder.Events)
			var told []string
			for event := range recorder.Events {
				told = append(told, event)
			}
			if all := strings.Join(told, "\n"); !strings.Contains(all, v1alpha1.ReasonPodStranded) || !strings.Contains(all, "deletionTimeout has passed; pods that wait for a virtual node and cannot be evicted: 1 pod (team/waits), and the API server refuses to evict team/waits: "+test.says) {
				t.Errorf("told:\n%s", all)
			}
		})
	}
}
