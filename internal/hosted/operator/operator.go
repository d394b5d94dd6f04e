// Package operator assembles the operator of hosted clusters: its cache and its controller.
// The main program and the tests run the same.
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

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/bind"
	"github.com/spillway-io/spillway/internal/hosted/controller"
	"github.com/spillway-io/spillway/internal/hosted/dial"
)

// DefaultNamespace has the operator and the Secrets with credentials.
const DefaultNamespace = "spillway-hosted"

// DefaultManagerNamespace has the manager of Spillway.
const DefaultManagerNamespace = "spillway-system"

// Options say how to run the operator.
type Options struct {
	// Namespace is the operator's own, with the Secrets. Default: DefaultNamespace.
	Namespace string
	// Manager is passed on; its Scheme and Cache are set here.
	Manager ctrl.Options
	// Clouds makes the clients of clusters. Default: those of the clouds themselves.
	Clouds controller.Clouds
	// ManagerNamespace has the manager of Spillway, and the Secrets of ClusterBindings.
	// Default: DefaultManagerNamespace.
	ManagerNamespace string
	// Binder makes clusters providers. Default: package bind does.
	Binder controller.Binder
	// Clock tells the time. Default: the real one.
	Clock clock.PassiveClock
	// WrapTransport, if set, wraps the transport to the API server: for counting requests
	// and injecting faults.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// Scheme knows the kinds that the operator works with.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// New makes an operator for the cluster of config. It writes nothing.
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
	// The API server's priority and fairness does this better than client-go.
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
	// Secrets of other namespaces are none of its business, and it has no right to them.
	o.Manager.Cache = cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.Namespace: {}}},
	}}
	o.Manager.Controller.UsePriorityQueue = ptr.To(false) // Its end may deadlock: kubernetes-sigs/controller-runtime#3538.
	mgr, err := ctrl.NewManager(config, o.Manager)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := (&controller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clouds: o.Clouds, Namespace: o.Namespace, Binder: o.Binder,
		Events: mgr.GetEventRecorder("spillway-hosted"), Clock: o.Clock, Random: rand.Float64,
	}).SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("adding the controller: %w", err)
	}
	return mgr, nil
}
