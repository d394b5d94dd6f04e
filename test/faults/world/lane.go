package world

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/faults/proxy"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const tokenLifetime = 24 * time.Hour

// Lane is a consumer and the two providers. It plays one run at a time.
type Lane struct {
	Index int
	// ConsumerID is the manager's --cluster-id. The names of remote namespaces end with it.
	ConsumerID string
	// Origin is the identity of the consumer.
	Origin    string
	Consumer  *rig.Cluster
	Providers []*rig.Cluster

	// proxies and kubeconfigs are by the name of the cluster. A kubeconfig is the manager's, and leads
	// through the proxy.
	proxies     map[string]*proxy.Proxy
	kubeconfigs map[string][]byte
	containers  map[string]*containers
	// baseline has the objects that were in each cluster before the first run.
	baseline map[string]sets.Set[string]
	// swept is true if the last run has ended and left nothing behind.
	swept bool
}

// World is a lane during a run.
type World struct {
	*Lane
	// Notes pass values, such as a UID, from one step of a scenario to the next.
	Notes map[string]string
	// Log receives the managers' logs.
	Log *Log
	// Asked reports whether a manager has sent that write since the first step, whatever the answer. Whoever
	// starts the managers sets it.
	Asked func(cluster, verb, resource, name string) bool
	// HandOver kills the manager, and another replica takes over at another address. Whoever starts the
	// managers sets it.
	HandOver func() error

	mu       sync.Mutex
	managers []*Manager
	command  *Command
	// port is where the managers serve the kubelet API.
	port int
}

// Clusters returns all clusters of the lane, the consumer first.
func (l *Lane) Clusters() []*rig.Cluster { return append([]*rig.Cluster{l.Consumer}, l.Providers...) }

// Cluster returns the cluster of that name: Consumer, P1 or P2. It panics for any other.
func (l *Lane) Cluster(name string) *rig.Cluster {
	for _, c := range l.Clusters() {
		if c.ID == name {
			return c
		}
	}
	panic("no cluster is called " + name)
}

// Proxy returns the proxy between the manager and a cluster.
func (l *Lane) Proxy(cluster string) *proxy.Proxy { return l.proxies[cluster] }

// Remote returns the name of a local namespace's remote namespace in every provider.
func (l *Lane) Remote(namespace string) string { return namespace + "-" + l.ConsumerID }

// Over returns a lane of clusters that somebody else has started, and ends. What is shipped is installed in them, and
// nothing is played: their controllers and kubelets are real. What exists in them at that time stays there. Close the
// lane with Close.
func Over(ctx context.Context, consumerID string, consumer *rig.Cluster, providers ...*rig.Cluster) (*Lane, error) {
	l := &Lane{ConsumerID: consumerID, Consumer: consumer}
	err := l.identify(ctx)
	if err == nil {
		err = l.connect(ctx, providers, nil)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// identify reads the identity of the consumer.
func (l *Lane) identify(ctx context.Context) error {
	var kubeSystem corev1.Namespace
	if err := l.Consumer.Admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &kubeSystem); err != nil {
		return fmt.Errorf("asking cluster %s who it is: %w", l.Consumer.Name, err)
	}
	l.Origin = string(kubeSystem.UID)
	return nil
}

// connect creates the proxies, and the kubeconfigs that lead through them.
func (l *Lane) connect(ctx context.Context, providers []*rig.Cluster, play map[string]*containers) error {
	l.Providers, l.containers = providers, play
	l.proxies, l.kubeconfigs, l.baseline = map[string]*proxy.Proxy{}, map[string][]byte{}, map[string]sets.Set[string]{}
	for _, c := range l.Clusters() {
		namespace, account := rig.ProviderNamespace, rig.ProviderServiceAccount
		if c == l.Consumer {
			namespace, account = manager.DefaultNamespace, rig.ManagerServiceAccount
		}
		direct, err := c.KubeconfigFor(ctx, namespace, account, tokenLifetime)
		if err != nil {
			return err
		}
		if l.kubeconfigs[c.ID], l.proxies[c.ID], err = through(direct); err != nil { //nolint:contextcheck // The proxies stay until Down.
			return fmt.Errorf("lane %d: making the proxy of cluster %s: %w", l.Index, c.Name, err)
		}
		present, err := l.present(ctx, c)
		if err != nil {
			return err
		}
		l.baseline[c.ID] = sets.KeySet(present)
	}
	return nil
}

// through returns a kubeconfig that leads through a new proxy. The certificates of the clusters are valid for
// their address on any port.
func through(kubeconfig []byte) ([]byte, *proxy.Proxy, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		return nil, nil, err
	}
	p, err := proxy.New(server.Host)
	if err != nil {
		return nil, nil, err
	}
	server.Host = p.Addr()
	cluster.Server = server.String()
	kubeconfig, err = clientcmd.Write(*config)
	return kubeconfig, p, err
}

// Begin starts a run. It fails if it cannot remove what an earlier run left.
func (l *Lane) Begin(ctx context.Context) (*World, error) {
	for _, p := range l.proxies {
		p.Heal()
	}
	if !l.swept {
		if err := l.sweep(ctx); err != nil {
			return nil, fmt.Errorf("lane %d cannot be used: %w", l.Index, err)
		}
	}
	l.swept = false
	w := &World{Lane: l, Notes: map[string]string{}, Log: &Log{}}
	return w, w.Move()
}

// End stops the running managers and ends their connections, so that no request arrives late. Then it removes
// by force everything that the run created. The lane is empty afterwards.
func (w *World) End(ctx context.Context) error {
	w.EndCommand()
	w.mu.Lock()
	managers := w.managers
	w.managers = nil
	w.mu.Unlock()
	var errs []error
	for _, m := range managers {
		errs = append(errs, m.Stop())
	}
	for _, p := range w.proxies {
		p.Reset()
		p.Heal()
	}
	err := w.sweep(ctx)
	w.swept = err == nil
	return errors.Join(append(errs, err)...)
}

// Close ends the proxies of a lane.
func (l *Lane) Close() error {
	var errs []error
	for _, p := range l.proxies {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// down ends a lane with its consumer.
func (l *Lane) down(ctx context.Context) error {
	errs := []error{l.Close()}
	if l.Consumer != nil && l.Consumer.Cluster != nil {
		errs = append(errs, l.Consumer.Down(ctx))
	}
	return errors.Join(errs...)
}
