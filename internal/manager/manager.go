// Package manager assembles the manager: the consumer's caches, the fleet, the controllers and the
// metrics. The main program and the tests use it alike.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers"
	"github.com/spillway-io/spillway/controllers/podadmission"
	"github.com/spillway-io/spillway/controllers/virtualnode"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/scheme"
	"github.com/spillway-io/spillway/internal/shard"
)

// DefaultNamespace is the namespace of the manager and the kubeconfig Secrets.
const DefaultNamespace = "spillway-system"

// whoTimeout is how long the consumer may take to tell the manager its user name.
const whoTimeout = 5 * time.Second

// Options configure the manager.
type Options struct {
	// Namespace is the namespace of the manager. Default: DefaultNamespace.
	Namespace string
	// ConsumerID names the consumer in DefaultName. It is a DNS label of at most 24 characters.
	// Default: the beginning of the UID of the consumer's kube-system namespace.
	ConsumerID string
	// Manager is passed on. New sets its Scheme and Cache.
	Manager ctrl.Options
	// Fleet is passed on. New sets its Origin.
	Fleet fleet.Options
	// WrapTransport, if set, wraps the transport to the consumer, to count requests and inject faults.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// Shard makes replicas share the ClusterBindings. It requires leader election (in Manager) for work
	// that concerns the whole consumer.
	Shard bool
	// Kubelet configures the server of the virtual nodes' kubelet API.
	Kubelet kubelet.Options
	// PodAdmission configures what prepares the pods of offloaded namespaces. Default: the policy.
	PodAdmission podadmission.Options
	// Provides makes providers create the volumes of claims whose StorageClass is mapped. The program sets it; see
	// engine.Engine.
	Provides bool
	// ClusterProfiles, if set, is the namespace in which each ClusterBinding is published as a ClusterProfile.
	ClusterProfiles string
	// TokenLife, if set, is how long the tokens of pods for the consumer's API are valid at most. It is for tests: by
	// default, they are valid for an hour.
	TokenLife time.Duration
	// SkipMetrics registers no metrics in the process-wide registry. So several managers can run in one
	// process, one after the other.
	SkipMetrics bool
}

// Scheme returns a scheme with the kinds of the consumer.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(inventory.AddToScheme(s)) // Used only with Options.ClusterProfiles.
	return s
}

// New creates a manager for the consumer that config names. It reads the consumer's identity, and which
// policies it serves. It writes nothing.
func New(ctx context.Context, config *rest.Config, o Options) (mcmanager.Manager, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	config = rest.CopyConfig(config)
	// client-go's default limit of 5 requests per second would throttle the manager. The API server's
	// priority and fairness limits requests better.
	config.QPS = -1
	config.UserAgent = "spillway-manager"
	if o.WrapTransport != nil {
		config.Wrap(o.WrapTransport)
	}
	repeats := consumer.NewRepeats()
	config.Wrap(repeats.Wrap) // Below the refusals: a request that is not repeated stays refused.
	refusals := consumer.NewRefusals(whoAmI(ctx, rest.CopyConfig(config)), clock.RealClock{})
	config.Wrap(refusals.Wrap)
	restored := consumer.NewRestoreDetector()
	config.Wrap(restored.Wrap)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the consumer: %w", err)
	}
	kubeSystem, err := clients.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking the consumer for its identity, the UID of namespace %s: %w", metav1.NamespaceSystem, err)
	}
	origin := string(kubeSystem.UID)
	if o.ConsumerID == "" {
		o.ConsumerID = namespacemap.DefaultConsumerID(kubeSystem.UID)
	}
	if problems := validation.IsDNS1123Label(o.ConsumerID); len(problems) > 0 || len(o.ConsumerID) > 24 {
		return nil, fmt.Errorf("the cluster ID %q must be a DNS label of at most 24 characters: %v", o.ConsumerID, problems)
	}
	admission, err := podadmission.Choose(ctx, o.PodAdmission.Mode, clients)
	if err != nil {
		return nil, err
	}
	setup := ctrl.Log.WithName("setup")
	setup.Info("consumer", "origin", origin, "consumerID", o.ConsumerID, "namespace", o.Namespace)
	switch {
	case admission.Webhook:
		setup.Info("the webhook " + v1alpha1.PodAdmissionName + " prepares the pods of offloaded namespaces")
	case !admission.PolicyServed:
		setup.Info("WARNING: this cluster does not serve MutatingAdmissionPolicy as admissionregistration.k8s.io/v1, " +
			"which needs Kubernetes 1.36, and the webhook is off (--pod-admission): pods of offloaded namespaces get no affinity, and a toleration only once they wait for a node")
	}
	served := consumer.NewDefinitions(clients.Discovery().RESTClient(), repeats, clock.RealClock{})
	return assemble(ctx, config, o, identity{origin, clients, admission, refusals, restored, served})
}

// whoAmI returns a function that asks the consumer for the manager's user name, and remembers the
// answer. config must have no wrapper that calls this function, otherwise the function would wait for
// itself.
func whoAmI(ctx context.Context, config *rest.Config) func() string {
	var mu sync.Mutex
	name := ""
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if name != "" {
			return name
		}
		clients, err := kubernetes.NewForConfig(config)
		if err != nil {
			return ""
		}
		ctx, cancel := context.WithTimeout(ctx, whoTimeout)
		defer cancel()
		if review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err == nil {
			name = review.Status.UserInfo.Username
		}
		return name
	}
}

// identity is what the manager learns about the consumer at its start.
type identity struct {
	origin    string
	clients   kubernetes.Interface
	admission podadmission.Choice
	refusals  *consumer.Refusals
	restored  *consumer.RestoreDetector
	served    *consumer.Definitions
}

func assemble(ctx context.Context, config *rest.Config, o Options, of identity) (mcmanager.Manager, error) {
	o.Fleet.Origin, o.Fleet.Restored = of.origin, of.restored.Detected
	o.Fleet.Kinds = remoteKinds(controllers.Kinds())
	sharing := shareBindings(&o, of)
	connections := fleet.New(o.Fleet)
	if err := engine.IndexRemote(ctx, connections, controllers.Kinds()); err != nil {
		return nil, fmt.Errorf("indexing the providers' caches: %w", err)
	}
	o.Manager.Scheme = Scheme()
	o.Manager.Cache = cacheOptions(o.Namespace)
	o.Manager.NewClient = informer.NewClient
	o.Manager.Controller.UsePriorityQueue = ptr.To(false) // Its shutdown may deadlock: kubernetes-sigs/controller-runtime#3538.
	if o.Manager.Logger.GetSink() == nil {
		// Controllers log for each provider when they start, watch and end. That is only for more
		// verbose logging. Errors are always logged.
		o.Manager.Logger = ctrl.Log.V(1)
	}
	mgr, err := sharing.newManager(config, connections, o.Manager)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := errors.Join(mgr.GetLocalManager().Add(of.restored), mgr.GetLocalManager().Add(of.served)); err != nil {
		return nil, fmt.Errorf("adding what notices that the consumer was restored, or serves kinds of another version: %w", err)
	}
	local, err := consumerViews(ctx, sharing.everywhere(mgr.GetLocalManager()), controllers.Kinds())
	if err != nil {
		return nil, err
	}
	if of.admission.Webhook {
		if err := podadmission.Serve(shard.Everywhere(mgr.GetLocalManager()), o.PodAdmission, o.Namespace); err != nil {
			return nil, err
		}
	}
	streams, err := sharing.serveKubelet(mgr, o.Kubelet, &kubelet.PodReader{
		Bindings: mgr.GetLocalManager().GetClient(), Views: local, Fleet: connections, Owner: sharing.owner(), Origin: of.origin,
	})
	if err != nil {
		return nil, err
	}
	if !o.SkipMetrics {
		reader := metrics.WhenElected{Reader: mgr.GetLocalManager().GetClient(), Elected: mgr.GetLocalManager().Elected()}
		state := &metrics.State{Reader: reader, Connected: connections.Connected, Clock: clock.RealClock{}}
		for _, collector := range []prometheus.Collector{
			state, &metrics.Pods{Views: local.All}, &metrics.Requests{Views: local.All}, &metrics.Bindings{Reader: reader}, &metrics.Usage{Of: connections.Usage}, streams,
		} {
			if err := crmetrics.Registry.Register(collector); err != nil {
				return nil, fmt.Errorf("registering the metrics: %w", err)
			}
		}
	}
	return mgr, controllers.Setup(mgr, controllers.Options{
		Fleet: connections, Kubernetes: of.clients, Origin: of.origin, PodAdmission: of.admission, Views: local,
		Provides: o.Provides, ClusterProfiles: o.ClusterProfiles, TokenLife: o.TokenLife, Sharing: sharing.coordinator(), Refusals: of.refusals, Definitions: of.served,
		Kubelet:  virtualnode.Endpoint{Address: o.Kubelet.Address, Port: int32(o.Kubelet.Port)},
		Settings: namespaceoffloading.Settings{ConsumerID: o.ConsumerID, ManagerNamespace: o.Namespace},
	})
}

// remoteKinds returns the kinds that the caches of providers hold.
func remoteKinds(kinds []engine.Registration) []fleet.Kind {
	var remote []fleet.Kind
	for _, k := range kinds {
		remote = append(remote, fleet.Kind{Object: k.New(), ClusterScoped: k.Scope == kind.ScopeCluster, Optional: k.Selection.Copies(), Labels: k.Labels})
	}
	return remote
}

// consumerViews creates the caches of the consumer, one for each binding.
func consumerViews(ctx context.Context, local ctrl.Manager, kinds []engine.Registration) (*views.Views, error) {
	options := views.Options{
		Config: local.GetConfig(), HTTPClient: local.GetHTTPClient(), Scheme: local.GetScheme(), Mapper: local.GetRESTMapper(),
		Groups: func(ctx context.Context, binding string) (map[string]field.Group, error) {
			return consumer.Groups(ctx, local.GetClient(), binding)
		},
	}
	for _, kind := range kinds {
		switch {
		case kind.Selection.ClusterWide():
			options.ClusterWide = append(options.ClusterWide, kind.Index)
			continue
		case kind.Selection.Protects():
			options.Kinds = append(options.Kinds, kind.New())
		}
		options.Indexes = append(options.Indexes, kind.Index)
	}
	v, err := views.New(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("making the consumer's caches: %w", err)
	}
	return v, local.Add(v)
}

// cacheOptions limit what the manager caches of the consumer:
//
//   - Secrets: only those in the manager's namespace.
//   - Pods: only while they wait for a node, and only the fields that decisions read.
//   - Nodes that are not virtual: only their identity, their addresses and their pod CIDRs.
func cacheOptions(namespace string) cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      informer.Shared(views.NewInformer), // Namespaces are held as metadata.
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {}}},
			&corev1.Pod{}:    {Field: fields.OneTermEqualSelector("spec.nodeName", ""), Transform: trimWaitingPod},
			&corev1.Node{}:   {Transform: trimForeignNode},
			// The manager reads it only if there may be a webhook.
			&admissionregistrationv1.MutatingWebhookConfiguration{}: {Field: fields.OneTermEqualSelector("metadata.name", v1alpha1.PodAdmissionName)},
		},
	}
}
