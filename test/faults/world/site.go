package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/manifests"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// Consumer is the name of the consumer in every lane. P1 and P2 are the clusterIDs of the providers, and the
// names of their ClusterBindings.
const (
	Consumer = "consumer"
	P1       = "p1"
	P2       = "p2"
)

// SiteVariable is an environment variable with the prefix of the clusters' names, so that two processes can
// each have a Site. Default: the name of the test binary.
const SiteVariable = "FAULTS_SITE"

// requestTimeout bounds each request of the harness itself. So if an API server hangs, the error names the
// request.
const requestTimeout = 30 * time.Second

// Admission plugins that are off in every cluster. They need a controller manager: it would create the
// ServiceAccounts that pods need, remove the finalizers of unused volumes, and remove the taint of a new
// node.
var pluginsOff = []string{"ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition"}

// Site has two providers, and the lanes that share them.
type Site struct {
	// Lanes may be used at the same time, each for one run at a time.
	Lanes []*Lane
	// Providers are P1 and P2.
	Providers []*rig.Cluster

	name   string
	log    io.Writer
	cancel context.CancelFunc
	group  sync.WaitGroup
	played *failures
	// containers plays the containers in the pods of each provider.
	containers map[string]*containers
}

// Up starts all clusters at once, installs what is shipped, and starts the players, which end with ctx or
// Down. log receives one line for each step. If Up fails, it leaves nothing running.
func Up(ctx context.Context, lanes int, log io.Writer) (*Site, error) {
	s := &Site{
		containers: map[string]*containers{P1: newContainers(), P2: newContainers()},
		Lanes:      make([]*Lane, lanes), Providers: make([]*rig.Cluster, 2),
		name: siteName(), log: &lines{to: log}, played: &failures{},
	}
	ctx, s.cancel = context.WithCancel(ctx)
	if err := s.up(ctx); err != nil {
		return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func siteName() string {
	if name := os.Getenv(SiteVariable); name != "" {
		return name
	}
	return strings.ToLower(strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")) + "-site"
}

func (s *Site) up(ctx context.Context) error {
	inConsumers, err := manifests.Kustomized(ctx, "config/default")
	if err != nil {
		return err
	}
	if inConsumers, err = returningSoon(inConsumers); err != nil {
		return err
	}
	inProviders, err := manifests.Kustomized(ctx, "config/provider")
	if err != nil {
		return err
	}
	if inConsumers, err = manifests.WithGatewayAPI(ctx, inConsumers); err != nil {
		return err
	}
	if inProviders, err = manifests.WithGatewayAPI(ctx, inProviders); err != nil {
		return err
	}
	inProviders = manifests.WithLimit(manifests.ForSamples(inProviders), "storageClasses", StoredThere)
	err = each(len(s.Lanes)+len(s.Providers), func(i int) error {
		if i < len(s.Providers) {
			var err error
			s.Providers[i], err = s.provider(ctx, []string{P1, P2}[i], inProviders)
			return err
		}
		var err error
		s.Lanes[i-len(s.Providers)], err = s.lane(ctx, i-len(s.Providers), inConsumers)
		return err
	})
	if err != nil {
		return err
	}
	return each(len(s.Lanes), func(i int) error { return s.Lanes[i].connect(ctx, s.Providers, s.containers) })
}

// cluster starts a cluster, and installs what is shipped, except the Deployment: the manager runs in this
// process.
func (s *Site) cluster(ctx context.Context, id, name string, o clusters.Options, shipped []*unstructured.Unstructured) (*rig.Cluster, error) {
	o.Name, o.Timeout, o.Log = s.name+"-"+name, rig.UpTimeout, s.log
	up, err := clusters.Up(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &rig.Cluster{Cluster: up, ID: id}
	config := up.Config()
	config.Timeout = requestTimeout
	if c.Admin, err = client.New(config, client.Options{Scheme: manager.Scheme()}); err != nil {
		return c, fmt.Errorf("making a client for cluster %s: %w", up.Name, err)
	}
	if err := manifests.Create(ctx, c.Admin, copies(manifests.Without(shipped, "Deployment"))); err != nil {
		return c, fmt.Errorf("installing what is shipped in cluster %s: %w", up.Name, err)
	}
	return c, nil
}

// copies returns copies to create: creating an object changes it, and there are several clusters.
func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	copied := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		copied[i] = object.DeepCopy()
	}
	return copied
}

// returningSoon lets pods return after a second. As shipped, it takes a minute at least, and there are thousands of runs.
func returningSoon(shipped []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	changed := slices.Clone(shipped)
	for i, object := range changed {
		if object.GetName() != "namespaceoffloadings.offloading.spillway.io" {
			continue
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading the definition of NamespaceOffloadings: %w", err)
		}
		changed[i] = &unstructured.Unstructured{}
		if err := changed[i].UnmarshalJSON(bytes.ReplaceAll(raw, []byte("duration('1m')"), []byte("duration('1s')"))); err != nil {
			return nil, fmt.Errorf("changing the definition of NamespaceOffloadings: %w", err)
		}
	}
	return changed, nil
}

func (s *Site) provider(ctx context.Context, id string, shipped []*unstructured.Unstructured) (*rig.Cluster, error) {
	c, err := s.cluster(ctx, id, id, clusters.Options{APIServerArgs: map[string]string{
		"runtime-config":            rig.FewKinds,
		"disable-admission-plugins": strings.Join(pluginsOff, ","),
	}}, shipped)
	if err != nil {
		return c, err
	}
	node, err := newNode(s.containers[id])
	if err != nil {
		return c, err
	}
	if err := createAll(ctx, c.Admin, append(storage(StoredThere, playedDriver), node)); err != nil {
		return c, fmt.Errorf("preparing provider %s: %w", id, err)
	}
	return c, s.play(ctx, c, kubelet, namespaces, volumes, driver)
}

// nodeName is the one node of each provider, on which the played kubelet runs all pods.
const nodeName = "node-1"

func newNode(kubelet *containers) (*corev1.Node, error) {
	address, endpoints, err := kubelet.address()
	offers := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}, Status: corev1.NodeStatus{
		Capacity: offers, Allocatable: offers, Addresses: []corev1.NodeAddress{address}, DaemonEndpoints: endpoints,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played"}},
	}}, err
}

func (s *Site) lane(ctx context.Context, i int, shipped []*unstructured.Unstructured) (*Lane, error) {
	l := &Lane{Index: i, ConsumerID: fmt.Sprintf("c%d", i)}
	var err error
	l.Consumer, err = s.cluster(ctx, Consumer, l.ConsumerID, clusters.Options{
		APIServerArgs: map[string]string{"disable-admission-plugins": strings.Join(pluginsOff, ",")},
	}, shipped)
	if err != nil {
		return l, err
	}
	if err := l.identify(ctx); err != nil {
		return l, err
	}
	if err := createAll(ctx, l.Consumer.Admin, append(storage(StoredHere, v1alpha1.StorageDriver), mayStore())); err != nil {
		return l, fmt.Errorf("preparing cluster %s: %w", l.Consumer.Name, err)
	}
	return l, s.play(ctx, l.Consumer, namespaces, volumes, collector, disruptions)
}

// Down ends all clusters that were started. It also returns the players' errors.
func (s *Site) Down(ctx context.Context) error {
	s.cancel()
	s.group.Wait()
	errs := []error{s.played.err(), nothingRelays(ctx)}
	for _, l := range s.Lanes {
		if l != nil {
			errs = append(errs, l.down(ctx))
		}
	}
	for _, c := range s.containers {
		c.server.CloseClientConnections()
		c.server.Close()
	}
	for _, c := range s.Providers {
		if c != nil && c.Cluster != nil {
			errs = append(errs, c.Down(ctx))
		}
	}
	return errors.Join(errs...)
}

// relays is in the stack of each goroutine with which a manager forwards a stream.
const relays = "spillway/internal/kubelet.("

// nothingRelays returns an error if such a goroutine is left after all managers have ended.
func nothingRelays(ctx context.Context) error {
	return rig.Eventually(ctx, requestTimeout, func(context.Context) error {
		stacks := make([]byte, 64<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for _, stack := range strings.Split(string(stacks), "\n\n") {
			if strings.Contains(stack, relays) {
				return errors.New("a goroutine of a stream is left:\n" + stack)
			}
		}
		return nil
	})
}

// each calls do with 0 … n-1, all at once, and joins the errors.
func each(n int, do func(int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = do(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// lines lets several clusters write to one log.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
