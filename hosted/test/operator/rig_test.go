package operator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/controller"
	"github.com/spillway-io/spillway/hosted/operator"
)

// rig is a reconciler that the tests call.
type rig struct {
	*testing.T
	*controller.Reconciler
	clouds *clouds
	clock  *testclock.FakePassiveClock
	events *events.FakeRecorder
}

func newRig(t *testing.T) *rig {
	t.Helper()
	counting := rest.CopyConfig(config)
	counting.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next} })
	c, err := client.New(counting, client.Options{Scheme: operator.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, clouds: newClouds(t), clock: testclock.NewFakePassiveClock(time.Now()), events: events.NewFakeRecorder(1000)}
	r.Reconciler = &controller.Reconciler{
		Client: c, Live: c, Clouds: r.clouds.dialer(), Namespace: "default", Events: r.events, Clock: r.clock, Random: func() float64 { return 0.5 },
	}
	return r
}

// restart starts another process: what was only in memory is gone.
func (r *rig) restart() {
	old := r.Reconciler
	r.Reconciler = &controller.Reconciler{
		Client: r.Live.(client.Client), Live: old.Live, Clouds: r.clouds.dialer(), Namespace: old.Namespace, Events: old.Events, Clock: old.Clock, Random: old.Random,
	}
}

// cluster creates a HostedCluster and its Secret, both with the cluster's name. The spec may name another Secret.
func (r *rig) cluster(name, spec string) {
	r.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StringData: map[string]string{
		"accessKeyID": "key-of-" + name, "secretAccessKey": "s", "tenantID": "tenant", "subscriptionID": "sub", "clientID": "client", "clientSecret": "secret-" + name,
		"credentials.json": r.clouds.account(r.T, name),
	}}
	h := &v1alpha1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &h.Spec); err != nil {
		r.Fatal(err)
	}
	if h.Spec.Credentials.SecretRef == nil {
		h.Spec.Credentials.SecretRef = &v1alpha1.SecretReference{Name: name}
	}
	for _, o := range []client.Object{secret, h} {
		if err := server.Create(r.Context(), o); err != nil {
			r.Fatal(err)
		}
	}
	r.Cleanup(func() {
		h := &v1alpha1.HostedCluster{}
		if server.Get(context.Background(), client.ObjectKey{Name: name}, h) == nil {
			h.Finalizers = nil
			_ = server.Update(context.Background(), h)
			_ = server.Delete(context.Background(), h)
		}
		_ = server.Delete(context.Background(), secret)
	})
}

func (r *rig) get(name string) *v1alpha1.HostedCluster {
	r.Helper()
	h := &v1alpha1.HostedCluster{}
	if err := server.Get(r.Context(), client.ObjectKey{Name: name}, h); err != nil {
		r.Fatal(err)
	}
	return h
}

// edit changes the spec, as a user does.
func (r *rig) edit(name string, change func(*v1alpha1.HostedCluster)) {
	r.Helper()
	h := r.get(name)
	change(h)
	if err := server.Update(r.Context(), h); err != nil {
		r.Fatal(err)
	}
}

// reconcile returns the delay until the next reconcile.
func (r *rig) reconcile(name string) time.Duration {
	r.Helper()
	result, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	if err != nil {
		r.Fatal(err)
	}
	return result.RequeueAfter
}

// next reconciles, and moves the clock to when the next reconcile is due.
func (r *rig) next(name string) {
	r.Helper()
	r.clock.SetTime(r.clock.Now().Add(r.reconcile(name)))
}

// settle reconciles until a reconcile writes nothing, in the cloud or the API server.
func (r *rig) settle(name string) *v1alpha1.HostedCluster {
	r.Helper()
	for range 20 {
		before := writes.Load()
		_, changes := r.clouds.counts()
		r.next(name)
		if _, now := r.clouds.counts(); writes.Load() == before && now == changes && len(r.get(name).Status.Operations) == 0 {
			return r.get(name)
		}
	}
	r.Fatalf("it is never quiet: %+v", r.get(name).Status)
	return nil
}

// condition fails the test unless the condition has that reason and message.
func (r *rig) condition(h *v1alpha1.HostedCluster, kind, reason, message string) {
	r.Helper()
	c := meta.FindStatusCondition(h.Status.Conditions, kind)
	if c == nil || c.Reason != reason || !strings.Contains(c.Message, message) {
		r.Errorf("%s is %+v, want %s: %s", kind, c, reason, message)
	}
}

func (r *rig) happened(text string) bool {
	for {
		select {
		case event := <-r.events.Events:
			if strings.Contains(event, text) {
				return true
			}
		default:
			return false
		}
	}
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Name: name} }
