package world

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/faults/proxy"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const tokenLifetime = 24 * time.Hour

// Lane is a consumer, and the providers as seen from it: where one run takes
// place at a time.
type Lane struct {
	Index int
	// ConsumerID is the manager's --cluster-id, with which the names of remote
	// namespaces end.
	ConsumerID string
	// Origin is the identity of the consumer.
	Origin    string
	Consumer  *rig.Cluster
	Providers []*rig.Cluster

	// proxies and kubeconfigs are by the name of the cluster. A kubeconfig is
	// that of the manager, and leads through the proxy.
	proxies     map[string]*proxy.Proxy
	kubeconfigs map[string][]byte
	containers  map[string]*containers
	// baseline is what was in each cluster before the first run.
	baseline map[string]sets.Set[string]
	// swept tells that the last run has ended, and has left nothing.
	swept bool
}

// World is a lane during a run.
type World struct {
	*Lane
	// Notes are what one step of a scenario keeps for the next, such as a UID.
	Notes map[string]string
	// Log is what the managers log.
	Log *Log
	// Asked reports whether a manager has tried that write since the first step,
	// whatever the answer. It is set by who starts the managers.
	Asked func(cluster, verb, resource, name string) bool
	// HandOver kills the manager, and another replica takes over, at another address. It
	// is set by who starts the managers.
	HandOver func() error

	mu       sync.Mutex
	managers []*Manager
	command  *Command
	// port is where the managers serve the kubelet API.
	port int
}

// Clusters are all of the lane, the consumer first.
func (l *Lane) Clusters() []*rig.Cluster { return append([]*rig.Cluster{l.Consumer}, l.Providers...) }

// Cluster is that of the name: Consumer, P1 or P2. There is no other.
func (l *Lane) Cluster(name string) *rig.Cluster {
	for _, c := range l.Clusters() {
		if c.ID == name {
			return c
		}
	}
	panic("no cluster is called " + name)
}

// Proxy is the way from the manager to a cluster.
func (l *Lane) Proxy(cluster string) *proxy.Proxy { return l.proxies[cluster] }

// Remote is the name that the remote namespace of a local one has in every provider.
func (l *Lane) Remote(namespace string) string { return namespace + "-" + l.ConsumerID }

// connect makes the proxies and the kubeconfigs that lead through them.
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

// through returns a kubeconfig that leads through a new proxy. The certificates
// of the clusters are for their address on any port.
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

// Begin starts a run. It fails if anything is left of an earlier one that cannot be removed.
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

// End stops the managers that run, ends their connections, so that nothing of
// what they have sent comes late, and removes all that the run has made, by
// force. The lane is empty afterwards.
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

func (l *Lane) close(ctx context.Context) error {
	var errs []error
	for _, p := range l.proxies {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	if l.Consumer != nil && l.Consumer.Cluster != nil {
		errs = append(errs, l.Consumer.Down(ctx))
	}
	return errors.Join(errs...)
}
