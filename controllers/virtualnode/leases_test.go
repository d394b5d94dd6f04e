package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// home is a consumer. It holds virtual nodes, and records the requests for their Leases. It runs in a bubble of synctest, in
// which time passes only while all wait.
type home struct {
	client.Client
	t      *testing.T
	leases *Leases

	mu       sync.Mutex
	requests []string // Verb, name of the node, seconds since the start.
	began    time.Time
	under    int // Writes in progress.
	most     int
	silent   map[string]time.Time // Since when providers do not answer.
	// answer, if set, is called before a write, and can hold or refuse it.
	answer func(ctx context.Context, node string) error
}

func newHome(t *testing.T, bindings ...string) *home {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &home{t: t, began: time.Now(), silent: map[string]time.Time{}}
	var objects []client.Object
	for _, name := range bindings {
		binding := builder.Binding(name).Obj()
		node := New(binding, Offer{})
		node.UID = types.UID(name + "-1")
		objects = append(objects, binding, node)
	}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, in client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ok := object.(*coordinationv1.Lease); ok {
				c.note("get", key.Name)
			}
			return in.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, in client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return c.write(ctx, "create", object, func() error { return in.Create(ctx, object, options...) })
		},
		Update: func(ctx context.Context, in client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return c.write(ctx, "update", object, func() error { return in.Update(ctx, object, options...) })
		},
	}).Build()
	c.leases = &Leases{Client: c.Client, Live: c.Client, Fleet: c, Clock: clock.RealClock{}}
	go func() { _ = c.leases.Start(t.Context()) }()
	return c
}

// State says when a provider last answered.
func (c *home) State(binding string) fleet.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since, silent := c.silent[binding]; silent {
		return fleet.State{LastContact: since}
	}
	return fleet.State{LastContact: time.Now()}
}

// set changes something while requests may be in progress.
func (c *home) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *home) note(verb, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, fmt.Sprintf("%s %s %d", verb, node, time.Since(c.began)/time.Second))
}

func (c *home) write(ctx context.Context, verb string, object client.Object, do func() error) error {
	c.note(verb, object.GetName())
	c.mu.Lock()
	answer := c.answer
	c.under++
	c.most = max(c.most, c.under)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.under--
	}()
	if answer != nil {
		if err := answer(ctx, object.GetName()); err != nil {
			return err
		}
	}
	return do()
}

// requested returns the requests until so many seconds after the start, without those that were returned
// before.
func (c *home) requested(seconds int) []string {
	c.t.Helper()
	time.Sleep(time.Until(c.began.Add(time.Duration(seconds) * time.Second)))
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := c.requests
	c.requests = nil
	return slices.Sorted(slices.Values(requests))
}

// wants checks the requests until so many seconds after the start.
func (c *home) wants(seconds int, want ...string) {
	c.t.Helper()
	if got := c.requested(seconds); !slices.Equal(got, want) {
		c.t.Errorf("until %d s: got %q, want %q", seconds, got, want)
	}
}

// engage engages the provider of a binding.
func (c *home) engage(binding string) (disengage func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	if err := c.leases.Engage(ctx, multicluster.ClusterName(binding), nil); err != nil {
		c.t.Fatal(err)
	}
	return cancel
}

func (c *home) lease(node string) *coordinationv1.Lease {
	c.t.Helper()
	lease := &coordinationv1.Lease{}
	if err := c.Get(c.t.Context(), client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: node}, lease); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = slices.DeleteFunc(c.requests, func(request string) bool { return request[:3] == "get" }) // That was the test.
	return lease
}

// inBubble runs a test whose clock passes at once.
func inBubble(t *testing.T, test func(c *home), bindings ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newHome(t, bindings...)) })
}

// TestLeasesOfGroups: a binding may have several nodes. Those that are to go are no longer renewed, and a new engagement
// begins with those that exist.
func TestLeasesOfGroups(t *testing.T) {
	inBubble(t, func(c *home) {
		end := c.engage("eu")
		c.wants(1, "create spillway-eu 0", "get spillway-eu 0")
		if err := c.Create(t.Context(), New(builder.Binding("eu").Obj(), Offer{Member: Member{Group: Group{Name: "spillway-eu.a"}}})); err != nil {
			t.Fatal(err)
		}
		c.wants(2, "create spillway-eu.a 1")
		c.leases.Follow("eu", []string{"spillway-eu", "spillway-eu.a"})
		c.wants(9, "create spillway-eu.a 2", "get spillway-eu.a 2")
		c.leases.Follow("eu", []string{"spillway-eu.a"})
		c.wants(25, "update spillway-eu.a 12", "update spillway-eu.a 22")
		end()
		c.leases.Follow("eu", []string{"spillway-eu", "spillway-eu.a"})
		c.wants(45)
		c.engage("eu")
		c.wants(46, "get spillway-eu 45", "get spillway-eu.a 45", "update spillway-eu 45", "update spillway-eu.a 45")
	}, "eu")
}

// TestLeasesAreRenewedTogether: at once when a provider is engaged, and then every ten seconds at moments that all
// share.
func TestLeasesAreRenewedTogether(t *testing.T) {
	inBubble(t, func(c *home) {
		c.engage("eu")
		c.wants(1, "create spillway-eu 0", "get spillway-eu 0")
		end := c.engage("us")
		c.wants(9, "create spillway-us 1", "get spillway-us 1")
		c.wants(31, "update spillway-eu 10", "update spillway-eu 20", "update spillway-eu 30",
			"update spillway-us 10", "update spillway-us 20", "update spillway-us 30")
		lease := c.lease("spillway-eu")
		if lease.Spec.RenewTime.Sub(c.began) != 30*time.Second || ptr.Deref(lease.Spec.HolderIdentity, "") != "spillway" || ptr.Deref(lease.Spec.LeaseDurationSeconds, 0) != 40 {
			c.t.Errorf("renewed as %+v", lease.Spec)
		}
		if owners := lease.OwnerReferences; len(owners) != 1 || owners[0].Kind != "Node" || owners[0].UID != "eu-1" {
			c.t.Errorf("it goes with %+v", owners)
		}
		end()
		c.wants(41, "update spillway-eu 40")
		c.engage("us") // And the last engagement is forgotten.
		c.wants(51, "get spillway-us 41", "update spillway-eu 50", "update spillway-us 41", "update spillway-us 50")
	}, "eu", "us")
}

// TestOneNodeThatHangsDelaysNoOther: it is tried again, and the others are renewed at their moments.
func TestOneNodeThatHangsDelaysNoOther(t *testing.T) {
	inBubble(t, func(c *home) {
		c.engage("eu")
		c.engage("us")
		c.requested(1)
		c.set(func() {
			c.answer = func(ctx context.Context, node string) error {
				if node != "spillway-eu" {
					return nil
				}
				<-ctx.Done()
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					time.Sleep(time.Second) // Otherwise it would end just at a moment, and either may come first.
				}
				return ctx.Err()
			}
		})
		c.wants(33, "update spillway-eu 10", "update spillway-eu 32",
			"update spillway-us 10", "update spillway-us 20", "update spillway-us 30")
	}, "eu", "us")
}

// TestAFewLeasesAtATime of many that are due at one moment.
func TestAFewLeasesAtATime(t *testing.T) {
	var bindings []string
	for i := range 5 * atOnce {
		bindings = append(bindings, fmt.Sprintf("b%d", i))
	}
	inBubble(t, func(c *home) {
		for _, binding := range bindings {
			c.engage(binding)
		}
		c.requested(1)
		c.set(func() {
			c.answer = func(context.Context, string) error { time.Sleep(100 * time.Millisecond); return nil }
			c.most = 0
		})
		got := len(c.requested(11))
		c.set(func() {
			if got != len(bindings) || c.most != atOnce {
				c.t.Errorf("%d requests, %d at a time, want %d, and %d", got, c.most, len(bindings), atOnce)
			}
		})
		c.leases.mu.Lock()
		defer c.leases.mu.Unlock()
		if c.leases.workers != 0 {
			c.t.Errorf("%d workers wait for nothing", c.leases.workers)
		}
	}, bindings...)
}

// TestLeasesThatOthersChange are read again. The other's fields stay.
func TestLeasesThatOthersChange(t *testing.T) {
	inBubble(t, func(c *home) {
		c.engage("eu")
		c.requested(1)
		lease := c.lease("spillway-eu")
		lease.Labels = map[string]string{"a": "b"}
		if err := c.Update(c.t.Context(), lease); err != nil {
			c.t.Fatal(err)
		}
		c.requested(2)
		c.wants(21, "get spillway-eu 10", "update spillway-eu 10", "update spillway-eu 10", "update spillway-eu 20")
		if got := c.lease("spillway-eu").Labels["a"]; got != "b" {
			c.t.Errorf("the label is %q, want b", got)
		}
		if err := c.Delete(c.t.Context(), c.lease("spillway-eu")); err != nil {
			c.t.Fatal(err)
		}
		c.wants(31, "create spillway-eu 30", "get spillway-eu 30", "update spillway-eu 30")
	}, "eu")
}

// TestTheTimeOfRenewalOnlyGrows, also if a predecessor's clock was two minutes ahead.
func TestTheTimeOfRenewalOnlyGrows(t *testing.T) {
	inBubble(t, func(c *home) {
		last := c.began.Add(2 * time.Minute)
		if err := c.Create(c.t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "spillway-eu"},
			Spec:       coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(last))},
		}); err != nil {
			c.t.Fatal(err)
		}
		c.engage("eu")
		for _, second := range []int{1, 11, 21, 131} {
			c.requested(second)
			renewed := c.lease("spillway-eu").Spec.RenewTime.Time
			if !renewed.After(last) {
				c.t.Errorf("after %d s, renewed at %s, want later than %s", second, renewed, last)
			}
			last = renewed
		}
		if want := c.began.Add(130 * time.Second); !last.Equal(want) {
			c.t.Errorf("renewed at %s in the end, want %s", last, want)
		}
	}, "eu")
}

// TestLeasesFollowTheirNode: one that is made again has another UID, without one there is no renewal, and somebody
// else's node gets none.
func TestLeasesFollowTheirNode(t *testing.T) {
	inBubble(t, func(c *home) {
		c.engage("eu")
		c.requested(1)
		node := &corev1.Node{}
		if err := c.Get(c.t.Context(), client.ObjectKey{Name: "spillway-eu"}, node); err != nil {
			c.t.Fatal(err)
		}
		if err := c.Client.Delete(c.t.Context(), node); err != nil {
			c.t.Fatal(err)
		}
		c.wants(11)
		again := New(builder.Binding("eu").Obj(), Offer{})
		again.UID = "eu-2"
		again.Labels[v1alpha1.LabelNodeType] = "somebody's"
		if err := c.Client.Create(c.t.Context(), again); err != nil {
			c.t.Fatal(err)
		}
		c.wants(13, "create spillway-eu 11") // Of the node.
		again.Labels[v1alpha1.LabelNodeType] = v1alpha1.NodeTypeVirtual
		if err := c.Client.Update(c.t.Context(), again); err != nil {
			c.t.Fatal(err)
		}
		c.wants(15, "update spillway-eu 13", "update spillway-eu 14") // Of the node, and of the Lease.
		if got := c.lease("spillway-eu").OwnerReferences[0].UID; got != "eu-2" {
			c.t.Errorf("the Lease goes with node %s, want eu-2", got)
		}
	}, "eu")
}

// TestSilentProviders: their nodes' Leases are not renewed from mostSilent on. One that answers again is renewed
// at the next moment.
func TestSilentProviders(t *testing.T) {
	inBubble(t, func(c *home) {
		c.engage("eu")
		c.requested(1)
		c.set(func() { c.silent["eu"] = c.began.Add(6 * time.Second) })
		c.wants(31, "update spillway-eu 10", "update spillway-eu 20")
		c.set(func() { delete(c.silent, "eu") })
		c.wants(33, "update spillway-eu 32")
	}, "eu")
}

// TestRefusedRenewals are tried again at the next moment.
func TestRefusedRenewals(t *testing.T) {
	inBubble(t, func(c *home) {
		c.engage("eu")
		c.requested(1)
		c.set(func() {
			c.answer = func(context.Context, string) error { return apierrors.NewInternalError(errors.New("no leader")) }
		})
		c.wants(13, "update spillway-eu 10", "update spillway-eu 12")
		c.set(func() { c.answer = nil })
		c.wants(33, "update spillway-eu 14", "update spillway-eu 24")
	}, "eu")
}
