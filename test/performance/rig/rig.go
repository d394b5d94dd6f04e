// Package rig runs a consumer and its providers on local clusters. Everything shipped is installed in them,
// and the manager does not run yet. The benchmarks and the crash tests use it.
//
// The kubeconfigs of the manager and in the Secrets of the providers belong to the ServiceAccounts from
// config. So the tests run with the rights that users grant.
package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/samples"
)

// The ServiceAccounts of the shipped manifests: the manager's in the consumer, in its own namespace, and the
// manager's in a provider.
const (
	ManagerServiceAccount  = "spillway-manager"
	ProviderNamespace      = "spillway-provider"
	ProviderServiceAccount = "spillway-consumer"
)

// UpTimeout is how long a cluster may take to start. Several start at once, on a machine that may be busy.
const UpTimeout = 5 * time.Minute

const (
	// TokenLifetime is longer than make bench takes.
	TokenLifetime = 7 * time.Hour
	// requestTimeout bounds each request of the rig itself. So if an API server hangs, the error names the
	// request.
	requestTimeout = time.Minute
)

const consumerID = "consumer"

// FewKinds is the --runtime-config of a provider without the kinds that Spillway does not send. It starts
// sooner. Its namespace controller also has fewer kinds to list: it lists every kind twice before it deletes
// a namespace, which would dominate the deletion of hundreds.
const FewKinds = "apps/v1=false,autoscaling/v1=false,autoscaling/v2=false,batch/v1=false,events.k8s.io/v1=false"

// controllers are the controllers of such a provider.
var controllers = []string{"namespace-controller", "serviceaccount-controller"}

const (
	// nodeController tells the scheduler which nodes are ready.
	nodeController       = "node-lifecycle-controller"
	replicaSetController = "replicaset-controller"
)

// OwnNode is the consumer's own node, see Options.OwnPods.
const OwnNode = "own"

// Options say what Up starts.
type Options struct {
	// Name is the prefix of the clusters' names.
	Name string
	// Providers are the clusterIDs of the providers.
	Providers []string
	// Nodes is how many nodes each provider has. If it has nodes, it also has a scheduler with an unlimited
	// client, and kwok, which runs the pods. Without nodes it has neither: the test plays them if it needs
	// them.
	Nodes int
	// Scheduler gives the consumer a scheduler with an unlimited client. It then has only the controllers for
	// namespaces and nodes, and a node becomes NotReady after an hour of silence: the test plays its nodes.
	Scheduler bool
	// OwnPods gives a consumer with a scheduler a node of its own with room for so many pods, kwok, which runs
	// them, and the controller of ReplicaSets.
	OwnPods int
	// Exempt are namespaces to which no policy of Spillway applies, in any cluster.
	Exempt []string
	// AuditPolicy is the policy of every cluster, in YAML; empty for no audit log.
	AuditPolicy string
	// Log receives one line for each step.
	Log io.Writer
}

// Cluster is a cluster of the rig, with an administrator's access.
type Cluster struct {
	*clusters.Cluster
	// ID is the clusterID of a provider, or "consumer".
	ID string
	// Admin reads and writes without a cache or a rate limit.
	Admin client.Client
	// Watched is a cache of the rig's own, which shows changes without a request for each look.
	Watched cache.Cache
}

// Rig is what Up has started.
type Rig struct {
	Consumer  *Cluster
	Providers []*Cluster

	options Options
	bound   []string // The clusterIDs of the bindings.
}

// All returns all clusters, the consumer first.
func (r *Rig) All() []*Cluster { return append([]*Cluster{r.Consumer}, r.Providers...) }

// Up starts all clusters at once, and installs what they need. The caches end with ctx. If Up fails, it
// leaves nothing running.
func Up(ctx context.Context, o Options) (*Rig, error) {
	r := &Rig{options: o, Providers: make([]*Cluster, len(o.Providers))}
	var group sync.WaitGroup
	errs := make([]error, len(o.Providers)+1)
	group.Go(func() { r.Consumer, errs[0] = r.up(ctx, consumerID, "config/default") })
	for i, id := range o.Providers {
		group.Go(func() { r.Providers[i], errs[i+1] = r.up(ctx, id, shippedToProviders) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, r.Down(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *Rig) up(ctx context.Context, id, shipped string) (*Cluster, error) {
	o := clusters.Options{
		Name: r.options.Name + "-" + id, Components: []clusters.Component{clusters.KubeControllerManager},
		AuditPolicy: r.options.AuditPolicy, Timeout: UpTimeout, Log: r.options.Log,
	}
	if id == consumerID {
		o = r.consumer(o)
	} else {
		o = r.provider(o)
	}
	up, err := clusters.Up(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Cluster: up, ID: id}
	config := up.Config()
	config.Timeout = requestTimeout
	if c.Admin, err = client.New(config, client.Options{Scheme: manager.Scheme()}); err != nil {
		return c, fmt.Errorf("making a client for cluster %s: %w", id, err)
	}
	if err := install(ctx, c.Admin, shipped, r.options.Exempt); err != nil {
		return c, fmt.Errorf("installing %s in cluster %s: %w", shipped, id, err)
	}
	if c.Watched, err = cache.New(up.Config(), cache.Options{
		Scheme: manager.Scheme(), DefaultTransform: cache.TransformStripManagedFields(),
	}); err != nil {
		return c, fmt.Errorf("making a cache for cluster %s: %w", id, err)
	}
	go func() { _ = c.Watched.Start(ctx) }()
	return c, nil
}

// silence is how long a node of a consumer with a scheduler may send no heartbeat.
const silence = time.Hour

// consumer returns the options of the consumer. Without a scheduler it has every controller.
func (r *Rig) consumer(o clusters.Options) clusters.Options {
	if r.options.Scheduler {
		o.ControllerManagerArgs = map[string]string{"controllers": strings.Join(append(controllers, nodeController), ",")}
		o.Components = append(o.Components, clusters.KubeScheduler)
		o.NodeGrace = silence
	}
	if r.options.OwnPods > 0 {
		o.ControllerManagerArgs["controllers"] += "," + replicaSetController
		o.Components = append(o.Components, clusters.KwokController)
		o.Nodes = []clusters.Node{{Name: OwnNode, Pods: strconv.Itoa(r.options.OwnPods), CPU: "1000"}}
	}
	return o
}

// provider returns the options of a provider. A scheduler reads kinds that FewKinds does not serve, and uses
// a node only when the node controller has seen that it is ready.
func (r *Rig) provider(o clusters.Options) clusters.Options {
	if r.options.Nodes == 0 {
		o.APIServerArgs = map[string]string{"runtime-config": FewKinds}
		o.ControllerManagerArgs = map[string]string{"controllers": strings.Join(controllers, ",")}
		return o
	}
	o.ControllerManagerArgs = map[string]string{"controllers": strings.Join(append(controllers, nodeController), ",")}
	o.Components = append(o.Components, clusters.KubeScheduler, clusters.KwokController)
	for i := range r.options.Nodes {
		o.Nodes = append(o.Nodes, clusters.Node{Name: fmt.Sprintf("node-%d", i), Pods: "1000", CPU: "1000"})
	}
	return o
}

// Down ends all clusters that were started.
func (r *Rig) Down(ctx context.Context) error {
	var errs []error
	for _, c := range r.All() {
		if c != nil && c.Cluster != nil {
			errs = append(errs, c.Down(ctx))
		}
	}
	return errors.Join(errs...)
}

// ManagerKubeconfig returns the manager's kubeconfig.
func (r *Rig) ManagerKubeconfig(ctx context.Context) ([]byte, error) {
	return r.Consumer.KubeconfigFor(ctx, manager.DefaultNamespace, ManagerServiceAccount, TokenLifetime)
}

// Bind creates the Secret and the ClusterBinding of every provider. Their name is the clusterID.
func (r *Rig) Bind(ctx context.Context) error {
	for _, provider := range r.Providers {
		kubeconfig, err := provider.KubeconfigFor(ctx, ProviderNamespace, ProviderServiceAccount, TokenLifetime)
		if err != nil {
			return err
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: manager.DefaultNamespace, Name: provider.ID},
			Data:       map[string][]byte{v1alpha1.DefaultKubeconfigKey: kubeconfig},
		}
		if err := r.Consumer.Admin.Create(ctx, secret); err != nil {
			return fmt.Errorf("making the Secret of provider %s: %w", provider.ID, err)
		}
		if err := r.bind(ctx, provider.ID, secret.Name); err != nil {
			return err
		}
	}
	return nil
}

// BindMore creates n more ClusterBindings to a provider that Bind has bound, each with its own clusterID.
func (r *Rig) BindMore(ctx context.Context, provider *Cluster, n int) error {
	for i := range n {
		if err := r.bind(ctx, fmt.Sprintf("%s-%03d", provider.ID, i), provider.ID); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rig) bind(ctx context.Context, clusterID, secret string) error {
	binding := &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: clusterID},
		Spec: v1alpha1.ClusterBindingSpec{
			ClusterID:           clusterID,
			KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: secret},
			Classes:             samples.Classes(),
		},
	}
	if err := r.Consumer.Admin.Create(ctx, binding); err != nil {
		return fmt.Errorf("making ClusterBinding %s: %w", clusterID, err)
	}
	r.bound = append(r.bound, clusterID)
	return nil
}

// Bound returns an error until all bindings are Ready.
func (r *Rig) Bound(ctx context.Context) error {
	var bindings v1alpha1.ClusterBindingList
	if err := r.Consumer.Watched.List(ctx, &bindings); err != nil {
		return err
	}
	if len(bindings.Items) != len(r.bound) {
		return fmt.Errorf("%d of %d ClusterBindings exist", len(bindings.Items), len(r.bound))
	}
	for i := range bindings.Items {
		ready := slices.ContainsFunc(bindings.Items[i].Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == v1alpha1.BindingReady && c.Status == metav1.ConditionTrue
		})
		if !ready {
			return fmt.Errorf("ClusterBinding %s is not Ready: %+v", bindings.Items[i].Name, bindings.Items[i].Status.Conditions)
		}
	}
	return nil
}
