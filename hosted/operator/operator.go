// Package operator assembles the operator of hosted clusters: its cache and its controller. The main program
// and the tests use the same code.
package operator

import (
	"fmt"
	"math/rand/v2"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/bind"
	"github.com/spillway-io/spillway/hosted/clouds/dial"
	"github.com/spillway-io/spillway/hosted/controller"
	"github.com/spillway-io/spillway/internal/recorder"
)

// DefaultNamespace is the namespace of the operator and of the Secrets with credentials.
const DefaultNamespace = "spillway-hosted"

// DefaultManagerNamespace is the namespace of Spillway's manager.
const DefaultManagerNamespace = "spillway-system"

// Options say how to run the operator.
type Options struct {
	// Namespace is the operator's namespace, with the Secrets. Default: DefaultNamespace.
	Namespace string
	// Manager has further options. New sets Scheme, Cache and Controller.UsePriorityQueue.
	Manager ctrl.Options
	// Clouds creates the clients of clusters. Default: a dial.Dialer for the clouds' own endpoints.
	Clouds controller.Clouds
	// ManagerNamespace is the namespace of Spillway's manager, with the Secrets of ClusterBindings. Default:
	// DefaultManagerNamespace.
	ManagerNamespace string
	// Binder makes clusters providers. Default: a bind.Binder.
	Binder controller.Binder
	// Clock is the clock to use. Default: the real one.
	Clock clock.PassiveClock
	// WrapTransport, if set, wraps the transport to the API server, to count requests and to inject faults.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// Scheme returns a scheme with the kinds that the operator works with.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// New creates an operator for the cluster of config. It writes nothing.
func New(config *rest.Config, o Options) (ctrl.Manager, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.ManagerNamespace == "" {
		o.ManagerNamespace = DefaultManagerNamespace
	}
	if o.Clouds == nil {
		o.Clouds = &dial.Dialer{}
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	config = rest.CopyConfig(config)
	// The API server's priority and fairness limits requests better than client-go.
	config.QPS = -1
	config.UserAgent = "spillway-hosted"
	if o.WrapTransport != nil {
		config.Wrap(o.WrapTransport)
	}
	if o.Binder == nil {
		binder, err := bind.New(config, o.ManagerNamespace)
		if err != nil {
			return nil, err
		}
		o.Binder = binder
	}
	o.Manager.Scheme = Scheme()
	// The operator does not need Secrets of other namespaces, and has no right to read them.
	o.Manager.Cache = cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.Namespace: {}}},
	}}
	o.Manager.Controller.UsePriorityQueue = ptr.To(false) // Stopping it may deadlock: kubernetes-sigs/controller-runtime#3538.
	mgr, err := ctrl.NewManager(config, o.Manager)
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	if mgr, err = recorder.In(mgr); err != nil {
		return nil, err
	}
	if err := (&controller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clouds: o.Clouds, Namespace: o.Namespace, Binder: o.Binder,
		Events: mgr.GetEventRecorder("spillway-hosted"), Clock: o.Clock, Random: rand.Float64,
	}).SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("adding the controller: %w", err)
	}
	if err := mgr.Add(confinement{mgr.GetClient(), o.ManagerNamespace}); err != nil {
		return nil, fmt.Errorf("adding the check of the policy: %w", err)
	}
	return mgr, nil
}
