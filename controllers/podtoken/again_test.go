package podtoken

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine"
	engdecide "github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/budget"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// shown is a cache that shows what a client has.
type shown struct {
	cache.Cache
	has client.Client
}

func (s shown) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	return s.has.Get(ctx, key, into, o...)
}

func (s shown) List(ctx context.Context, into client.ObjectList, o ...client.ListOption) error {
	return s.has.List(ctx, into, o...)
}

// provider is a cluster whose cache does not show what is written.
type provider struct {
	cluster.Cluster
	cache shown
	api   client.Client
}

func (p provider) GetCache() cache.Cache    { return p.cache }
func (p provider) GetClient() client.Client { return p.api }

// lease is how long the Lease in a provider is still valid.
type lease func() (time.Duration, bool)

// requests is what happens when a token is requested.
type requests func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error

// forRunningPod returns the reconciler of a provider in which the pod team/web runs. The Secret with its tokens is not
// there, and what is written there is not shown by its cache.
func forRunningPod(t *testing.T, clock clock.PassiveClock, remaining lease, requested requests) (r engine.Runner, there provider, secret *corev1.Secret) {
	t.Helper()
	mark := provenance.Mark{Origin: "origin", ClusterID: "eu"}
	web := podOf("7b0a3f0e-1c2d-4e5f-8a9b-0c1d2e3f4a5b", corev1.PodRunning)
	web.Spec.Volumes = []corev1.Volume{{Name: "api", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
	}}}}}
	remote := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: web.Name, Labels: mark.Labels(), Annotations: map[string]string{
		v1alpha1.AnnotationLocalNamespace: web.Namespace, v1alpha1.AnnotationLocalName: web.Name, v1alpha1.AnnotationLocalUID: string(web.UID),
	}}, Spec: *web.Spec.DeepCopy()}
	api := &v1alpha1.ConsumerAPI{Host: "api.example.com", Port: 443, CABundle: []byte("certificates")}
	token.Mount(&remote.Spec, web.UID, api)

	consumer := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: requested}).WithObjects(web, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "default"}}).Build()
	there = provider{api: fake.NewClientBuilder().Build(), cache: shown{has: fake.NewClientBuilder().WithObjects(remote).
		WithIndex(&corev1.Secret{}, objects.FieldLocal, objects.IndexLocal(kind.Referenced)).Build()}}
	c := engine.Connection{
		Mark: mark, View: &views.View{Cache: shown{has: consumer}}, Provider: &fleet.Provider{Cluster: there, Budget: budget.NewLedger(budget.Budget{}, nil), Remaining: remaining},
		Remote: ownwrites.New(there.cache, clock),
		Destinations: func(string) []engdecide.Destination {
			return []engdecide.Destination{{Target: field.Target{Mark: mark, Namespace: "home"}}}
		},
		API: func() field.ConsumerAPI {
			return field.ConsumerAPI{Endpoint: api, Lists: func(string, string) bool { return true }}
		},
		Paused: func() bool { return false }, Enqueue: func(...engdecide.Key) {},
	}
	r, err := (&Kind{Consumer: consumer, Clock: clock}).Attach(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r, there, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: field.TokenSecretName(web.UID)}}
}

var web = keyOf(types.NamespacedName{Namespace: "team", Name: "web"})

// TestLooksAgain: a Secret that was created and deleted while a watch was down causes no event. The running pod gets other
// tokens once the own write is not believed any more, and not only when the lost ones would have been renewed.
func TestLooksAgain(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	runner, there, secret := forRunningPod(t, clock, nil, nil)
	for pass := range 2 {
		result, err := runner.Reconcile(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter == 0 || result.RequeueAfter > ownwrites.Lifetime {
			t.Errorf("pass %d: the pod is looked at again after %s", pass, result.RequeueAfter)
		}
		if err := there.api.Delete(t.Context(), secret); err != nil { // It was created.
			t.Fatalf("pass %d: %v", pass, err)
		}
		clock.SetTime(clock.Now().Add(ownwrites.Lifetime + time.Millisecond))
	}
}

// TestFenced: while nothing may be written in the provider, no token is requested whose Secret could not be written.
func TestFenced(t *testing.T) {
	left, asked := time.Duration(0), 0
	runner, there, secret := forRunningPod(t, clocktesting.NewFakePassiveClock(now), func() (time.Duration, bool) { return left, true },
		func(ctx context.Context, c client.Client, _ string, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
			asked++
			return c.SubResource("token").Create(ctx, o, sub, opts...)
		})
	if _, err := runner.Reconcile(t.Context(), web); !errors.Is(err, transport.ErrFenced) || asked != 0 {
		t.Errorf("%d tokens are requested, error %v", asked, err)
	}
	left = time.Second
	if _, err := runner.Reconcile(t.Context(), web); err != nil || asked != 1 {
		t.Errorf("after the renewal, %d tokens are requested, error %v", asked, err)
	}
	if err := there.api.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Error(err)
	}
}
