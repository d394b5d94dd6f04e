package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/budget"
)

// provider is the API server of the tests, and providerUID its identity.
var (
	provider    *rest.Config
	providerUID string
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join("..", "..", "..", "bin", "kube")
	}
	if _, err := os.Stat(filepath.Join(assets, "kube-apiserver")); err != nil {
		fmt.Fprintln(os.Stderr, "no Kubernetes to test against: run make kube:", err)
		return 1
	}
	env := &envtest.Environment{BinaryAssetsDirectory: assets}
	config, err := env.Start()
	defer func() { _ = env.Stop() }()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting an API server:", err)
		return 1
	}
	provider = &rest.Config{Host: config.Host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: config.CAData, CertData: config.CertData, KeyData: config.KeyData}}
	c, err := client.New(config, client.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The API server creates kube-system itself, a moment after it is ready.
	err = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		namespace := &corev1.Namespace{}
		err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
		providerUID = string(namespace.UID)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "waiting for namespace kube-system:", err)
		return 1
	}
	return m.Run()
}

// manager replaces the controllers that a provider is engaged with.
type manager struct{ engaged atomic.Int32 }

func (m *manager) Engage(context.Context, multicluster.ClusterName, cluster.Cluster) error {
	m.engaged.Add(1)
	return nil
}

func startFleet(t *testing.T) (*Fleet, *manager) {
	t.Helper()
	return startFleetWith(t)
}

func startFleetWith(t *testing.T, kinds ...Kind) (*Fleet, *manager) {
	t.Helper()
	forgetLeases(t)
	f := New(Options{Origin: "consumer", ProbeInterval: 100 * time.Millisecond, ProbeTimeout: 5 * time.Second, Kinds: kinds})
	m := &manager{}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = f.Start(ctx, m)
	}()
	go remember(ctx, f)
	t.Cleanup(func() { cancel(); <-stopped })
	return f, m
}

// forgetLeases removes what other tests' managers have left: for the Leases, all fleets
// here work for one consumer, and new bindings remember nothing.
func forgetLeases(t *testing.T) {
	t.Helper()
	c, err := client.New(provider, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(v1alpha1.ProviderNamespace)); err != nil {
		t.Fatal(err)
	}
}

// remember plays the ClusterBindings: it remembers what they should, and passes on what
// they are told.
func remember(ctx context.Context, f *Fleet, told ...func(State)) {
	for {
		select {
		case e := <-f.Events():
			f.mu.Lock()
			if c, ok := f.connections[e.Object.Name]; ok {
				state := c.report.now()
				if state.Holder.Generation > 0 {
					c.leaseState.record(state.Holder, "")
				}
				for _, tell := range told {
					tell(state)
				}
			}
			f.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

func target(name, fingerprint, pinned string) Target {
	return Target{Name: name, ClusterID: name, Config: rest.CopyConfig(provider), Fingerprint: fingerprint, Endpoint: fingerprint, PinnedUID: pinned}
}

// eventually waits for a state of a connection.
func eventually(t *testing.T, f *Fleet, name, what string, is func(State) bool) State {
	t.Helper()
	var state State
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		state = f.State(name)
		return is(state), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s %s: the state is %+v", name, what, state)
	}
	return state
}

func connected(s State) bool { return s.Phase == Connected }

func refusedFor(reason string) func(State) bool {
	return func(s State) bool { return s.Phase == Disconnected && s.Reason == reason }
}

// TestConnectionsShareAMapper: one of its own would take each connection 20 KB.
func TestConnectionsShareAMapper(t *testing.T) {
	f := New(Options{})
	one, err1 := f.options.mapper()
	two, err2 := f.options.mapper()
	if err1 != nil || err2 != nil || one != two {
		t.Errorf("got %p and %p, %v, %v", one, two, err1, err2)
	}
}

func TestNothingIsUsedBeforeItsIdentityIsPinned(t *testing.T) {
	f, m := startFleet(t)
	f.Connect(target("eu", "1", ""))
	state := eventually(t, f, "eu", "is identified", func(s State) bool { return s.UID != "" })
	if state.Authority == "" {
		t.Error("nobody vouches for it")
	}
	if state.UID != providerUID || state.Phase != Connecting {
		t.Errorf("identified as %+v, want UID %s and the phase Connecting", state, providerUID)
	}
	if _, err := f.Get("eu"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("Get before the identity is pinned: error %v, want ErrClusterNotFound", err)
	}
	if m.engaged.Load() != 0 {
		t.Error("the provider was engaged before its identity was pinned")
	}
	f.Connect(target("eu", "1", state.UID))
	eventually(t, f, "eu", "is connected", connected)
	if m.engaged.Load() != 1 {
		t.Errorf("engaged %d times, want once", m.engaged.Load())
	}
	f.Disconnect("eu")
	if got := f.State("eu").Phase; got != NotConnected {
		t.Errorf("after Disconnect the phase is %s", got)
	}
}

func TestRefusals(t *testing.T) {
	f, m := startFleet(t)
	f.Connect(target("other", "1", "another-uid"))
	eventually(t, f, "other", "is refused", refusedFor(v1alpha1.ReasonIdentityChanged))

	nobody := target("nobody", "1", providerUID)
	nobody.Config.CertData, nobody.Config.KeyData, nobody.Config.BearerToken = nil, nil, "wrong"
	f.Connect(nobody)
	state := eventually(t, f, "nobody", "is refused", refusedFor(v1alpha1.ReasonUnauthorized))
	if !state.CredentialsRefused() {
		t.Error("an unknown token does not count as refused credentials")
	}

	itself := New(Options{Origin: providerUID})
	k := newConnector(itself, target("itself", "1", ""), nil)
	var refused errNotUsable
	if err := k.verify(providerUID); !errors.As(err, &refused) || refused.reason != v1alpha1.ReasonSameCluster {
		t.Errorf("the consumer as its own provider: %v, want the reason SameCluster", err)
	}
	if m.engaged.Load() != 0 {
		t.Error("a refused provider was engaged")
	}
}

// TestHangingProviders connects to providers that accept connections and never answer,
// then to one that does.
func TestHangingProviders(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()

	f, _ := startFleet(t)
	for i := range 50 {
		hanging := target(fmt.Sprintf("hanging-%d", i), "1", "uid")
		hanging.Config.Host = "https://" + listener.Addr().String()
		f.Connect(hanging)
	}
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected while 50 others hang", connected)
	for i := range 50 {
		if name := fmt.Sprintf("hanging-%d", i); f.State(name).Phase == Connected {
			t.Errorf("%s is connected", name)
		}
	}
	eventually(t, f, "hanging-0", "is given up", refusedFor(v1alpha1.ReasonUnreachable))
}

// TestReconnecting connects anew many times: each time there is one
// more engagement, the old one has ended, and nothing is left of it.
func TestReconnecting(t *testing.T) {
	f, m := startFleet(t)
	f.Connect(target("eu", "0", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	before := runtime.NumGoroutine()
	for i := 1; i <= 20; i++ {
		last, err := f.Get("eu")
		if err != nil {
			t.Fatal(err)
		}
		again := target("eu", fmt.Sprint(i), providerUID)
		again.Holder = f.State("eu").Holder // Its ClusterBinding remembers it.
		f.Connect(again)
		eventually(t, f, "eu", "is connected again", connected)
		if now, err := f.Get("eu"); err != nil || now == last {
			t.Fatalf("after new credentials: cluster %v, error %v, want a new cluster", now, err)
		}
	}
	if got := m.engaged.Load(); got != 21 {
		t.Errorf("engaged %d times, want 21", got)
	}
	var after int
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		after = runtime.NumGoroutine()
		return after < before+20, nil // Less than one for each replaced connection.
	})
	if err != nil {
		t.Errorf("%d goroutines before, %d after 20 connections", before, after)
	}
}

func TestTheCacheHoldsOnlyWhatCarriesOurMark(t *testing.T) {
	c := admin(t)
	f, _ := startFleet(t)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	cl, err := f.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	for name, mark := range map[string]provenance.Mark{
		"ours":            {Origin: "consumer", ClusterID: "eu"},
		"another-binding": {Origin: "consumer", ClusterID: "us"},
		"another-origin":  {Origin: "someone", ClusterID: "eu"},
	} {
		temporary(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: mark.Labels()}})
	}
	var names []string
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		var namespaces corev1.NamespaceList
		err := cl.GetClient().List(ctx, &namespaces)
		names = nil
		for i := range namespaces.Items {
			names = append(names, namespaces.Items[i].Name)
		}
		return len(names) > 0, err
	})
	if err != nil || len(names) != 1 || names[0] != "ours" {
		t.Errorf("the cache holds the namespaces %v (error %v), want only ours", names, err)
	}
}

// What is known of credentials is not known of their successors until the provider has
// answered.
func TestOtherCredentialsAreUntried(t *testing.T) {
	f, _ := startFleet(t)
	first := target("eu", "1", providerUID)
	first.Config.CertData, first.Config.KeyData, first.Config.BearerToken = nil, nil, "wrong"
	f.Connect(first)
	if state := eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonUnauthorized)); state.Untried {
		t.Error("the first ones take the place of none")
	}
	second := target("eu", "2", providerUID)
	second.Config.Host = "https://127.0.0.1:1"
	f.Connect(second)
	if !f.State("eu").Untried {
		t.Error("what is known of the first ones is taken for what is known of the second ones")
	}
	if state := eventually(t, f, "eu", "leads nowhere", refusedFor(v1alpha1.ReasonUnreachable)); !state.Untried {
		t.Error("it has not answered, and is taken to have")
	}
	second.Budget = budget.Budget{Memory: 1 << 30, Objects: 1000}
	f.Connect(second)
	if !f.State("eu").Untried {
		t.Error("another budget is taken for an answer")
	}
	f.Connect(target("eu", "3", providerUID))
	if state := eventually(t, f, "eu", "is connected", connected); state.Untried {
		t.Error("it has answered, and is taken not to have")
	}
	first.Fingerprint = "4"
	f.Connect(first)
	if state := eventually(t, f, "eu", "is refused again", refusedFor(v1alpha1.ReasonUnauthorized)); state.Untried {
		t.Error("a refusal is an answer")
	}
}
