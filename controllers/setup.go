// Package controllers lists all controllers of Spillway, the kinds that are sent to providers, and what they share.
//
// A controller has a folder here. reconciler.go in it reads and writes. decide.go decides, without any I/O, unless
// several controllers need the decision: then it is in internal/decide. A kind has a folder in toprovider, with
// everything about it. Package engine runs the kinds.
package controllers

import (
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/spillway-io/spillway/controllers/clusterbinding"
	"github.com/spillway-io/spillway/controllers/clusterprofile"
	"github.com/spillway-io/spillway/controllers/eviction"
	"github.com/spillway-io/spillway/controllers/fromprovider/podevent"
	"github.com/spillway-io/spillway/controllers/fromprovider/volume"
	"github.com/spillway-io/spillway/controllers/importedcapacity"
	"github.com/spillway-io/spillway/controllers/importedclass"
	"github.com/spillway-io/spillway/controllers/leavingpods"
	"github.com/spillway-io/spillway/controllers/namespacelabel"
	"github.com/spillway-io/spillway/controllers/namespacemap"
	"github.com/spillway-io/spillway/controllers/namespaceoffloading"
	"github.com/spillway-io/spillway/controllers/offloadingstatus"
	"github.com/spillway-io/spillway/controllers/podadmission"
	"github.com/spillway-io/spillway/controllers/podreturn"
	"github.com/spillway-io/spillway/controllers/podtoken"
	"github.com/spillway-io/spillway/controllers/quotastatus"
	"github.com/spillway-io/spillway/controllers/release"
	"github.com/spillway-io/spillway/controllers/stuckpod"
	"github.com/spillway-io/spillway/controllers/toprovider/configmap"
	"github.com/spillway-io/spillway/controllers/toprovider/endpointslice"
	"github.com/spillway-io/spillway/controllers/toprovider/ingress"
	"github.com/spillway-io/spillway/controllers/toprovider/networkpolicy"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolume"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/poddisruptionbudget"
	"github.com/spillway-io/spillway/controllers/toprovider/route"
	"github.com/spillway-io/spillway/controllers/toprovider/secret"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
	"github.com/spillway-io/spillway/controllers/unplacedclaim"
	"github.com/spillway-io/spillway/controllers/virtualnode"
	"github.com/spillway-io/spillway/controllers/waitingpod"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/consumer/endpoint"
	"github.com/spillway-io/spillway/internal/consumer/localroom"
	"github.com/spillway-io/spillway/internal/consumer/views"
	offloading "github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/recorder"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
)

// The first and the longest time between two writes of one object. The first write is never delayed, so a
// single change takes effect at once. Changes that come together are one write per interval. Since the
// intervals double, an interval is hardly longer than the burst of changes so far. A status waits less than the
// five seconds that the deletion of a namespace takes at least, so its deletion is seen.
const (
	specInterval   = 500 * time.Millisecond
	specMost       = 4 * time.Second
	statusInterval = time.Second
	statusMost     = 3 * time.Second
	nodeInterval   = 2 * time.Second
	nodeMost       = nodeInterval
	// nodeShrinks is how many writes of a node go at once because its provider offers less:
	// as many as nodes of a provider are likely to be cordoned in one go.
	nodeShrinks = 32
	// nodeSmall is how often a node is written only because other pods in its provider request a little more or less.
	nodeSmall = time.Minute
	// nodeTold is how often a condition says how much of a provider that grows exists, and how many pods wait there.
	nodeTold = 10 * time.Second
	// Progress of one offloading, of thousands perhaps, that changes neither its phase nor
	// the step of its deletion.
	progressInterval = 10 * time.Second
	progressMost     = 30 * time.Second
	// What is free in a provider changes with each pod. Whoever reads profiles sees a change within ten seconds, and one by
	// less than 5% of the capacity after profileSmall.
	profileInterval = 3 * time.Second
	profileMost     = 6 * time.Second
	profileSmall    = time.Minute
)

// Options are shared by the controllers.
type Options struct {
	Fleet      *fleet.Fleet
	Kubernetes kubernetes.Interface
	// Origin is the identity of the consumer.
	Origin   string
	Settings offloading.Settings
	// PodAdmission says what prepares the pods of offloaded namespaces.
	PodAdmission podadmission.Choice
	// Views are the consumer's caches of each binding.
	Views *views.Views
	// Sharing says which bindings this replica works for. If it is nil, the elected replica works for all.
	Sharing *shard.Coordinator
	// Refusals knows which writes the consumer refuses.
	Refusals *consumer.Refusals
	// Definitions knows how the served kinds differ from the kinds of this version.
	Definitions *consumer.Definitions
	// Provides makes providers create volumes; see engine.Engine.
	Provides bool
	// ClusterProfiles, if set, is the namespace of the ClusterProfiles.
	ClusterProfiles string
	// TokenLife, if set, is how long the tokens of pods for the consumer's API are valid at most.
	TokenLife time.Duration
	// Kubelet is where this replica serves the kubelet API of virtual nodes.
	Kubelet virtualnode.Endpoint
}

// Kinds are the kinds of objects that are synced with the providers.
func Kinds() []engine.Registration {
	return []engine.Registration{
		engine.Register(pod.Kind()),
		engine.Register(configmap.Kind()),
		engine.Register(secret.Kind()),
		engine.Register(persistentvolumeclaim.Kind()),
		engine.Register(persistentvolume.Kind()),
		engine.Register(service.Kind()),
		engine.Register(networkpolicy.Kind()),
		engine.Register(endpointslice.Kind()),
		engine.Register(poddisruptionbudget.Kind()),
		engine.Register(ingress.Kind()),
		engine.Register(route.HTTP()),
		engine.Register(route.GRPC()),
	}
}

// Setup adds every controller to the manager.
func Setup(mgr mcmanager.Manager, o Options) error {
	local, err := recorder.In(mgr.GetLocalManager())
	if err != nil {
		return err
	}
	return setup(mgr, local, o)
}

// setup adds them. local is the consumer's manager, with our recorders of events.
func setup(mgr mcmanager.Manager, local ctrl.Manager, o Options) error {
	now := clock.RealClock{}
	run, kinds := scopeOf(mgr, o.Sharing), Kinds()
	warnings := &podevent.Kind{Kinds: kinds, Consumer: local.GetClient(), Clock: now}
	authority := endpoint.AuthorityOf(local.GetConfig())
	engine := &engine.Engine{
		Kinds: kinds, Provides: o.Provides, Shown: fromProvider(local, o, authority, warnings), Views: o.Views, Consumer: local.GetClient(), Live: local.GetAPIReader(), Cache: local.GetCache(), Origin: o.Origin,
		ManagerNamespace: o.Settings.ManagerNamespace, Events: local.GetEventRecorder("spillway-syncer"), Clock: now,
	}
	cached, present := local.GetClient(), inventory.New(o.Views)
	left := run.counter(present)
	return firstOf([]added{
		{"sync", run.all.Add(engine)},
		{"inventory", run.local.Add(present)},
		{"podevent", warnings.SetupWithManager(run.local)},
		{"podreturn", podReturn(local, o, present, run.sharing).SetupWithManager(local)},
		{"clusterbinding", (&clusterbinding.Reconciler{
			Client: cached, Live: local.GetAPIReader(), Fleet: o.Fleet, Namespace: o.Settings.ManagerNamespace,
			PolicyServed: o.PodAdmission.PolicyServed, Webhook: o.PodAdmission.Webhook, Events: local.GetEventRecorder("spillway-clusterbinding"), Clock: now,
			Inventory: present, Views: o.Views, Owner: run.owner, Pace: throttle.New(statusInterval, statusMost, now), Refusals: o.Refusals, Definitions: o.Definitions,
			Endpoints: endpoint.NewVerifier(authority, now),
		}).SetupWithManager(run.local)},
		{"eviction", (&eviction.Reconciler{
			Client: cached, Kubernetes: o.Kubernetes, Inventory: present, Tries: &eviction.Tries{Clock: now}, Unhealthy: &eviction.Unhealthy{Kubernetes: o.Kubernetes, Clock: now},
		}).SetupWithManager(run.local)},
		{"virtualnode", (&virtualnode.Reconciler{
			Client: cached, Live: local.GetAPIReader(), Fleet: o.Fleet, Owner: run.owner, Kubelet: o.Kubelet, Clock: now, Pace: throttle.New(nodeInterval, nodeMost, now),
			Shrinking: throttle.NewAllowance[string](nodeShrinks, nodeInterval, now), Small: throttle.NewAllowance[string](1, nodeSmall, now), Told: throttle.NewAllowance[string](1, nodeTold, now),
			KeepsFeatures: o.PodAdmission.PolicyServed, // Both come with Kubernetes 1.36.
			Leases:        &virtualnode.Leases{Client: cached, Live: local.GetAPIReader(), Fleet: o.Fleet, Clock: now}, Inventory: present, Events: local.GetEventRecorder("spillway-virtualnode"),
		}).SetupWithManager(run.local, run.all)},
		{"namespacelabel", (&namespacelabel.Reconciler{Client: cached, Events: local.GetEventRecorder("spillway-namespacelabel")}).SetupWithManager(local)},
		{"namespaceoffloading", (&namespaceoffloading.Lifecycle{
			Client: cached, Kubernetes: o.Kubernetes, Inventory: present, Counter: left, Settings: o.Settings,
			Events: local.GetEventRecorder("spillway-namespaceoffloading"), Clock: now,
		}).SetupWithManager(local)},
		{"namespacemapping", (&namespaceoffloading.Mapping{Client: cached, Inventory: present, Counter: left, Settings: o.Settings, Pace: throttle.New(specInterval, specMost, now)}).SetupWithManager(local)},
		{"namespacemap", (&namespacemap.Reconciler{
			Client: cached, Live: local.GetAPIReader(), Fleet: o.Fleet, Inventory: present, Owner: run.owner, Origin: o.Origin, Settings: o.Settings,
			Clock: now, Pace: throttle.New(statusInterval, statusMost, now),
		}).SetupWithManager(run.local, run.all)},
		{"offloadingstatus", (&offloadingstatus.Reconciler{
			Client: cached, Inventory: present, Counter: left, Settings: o.Settings, Events: local.GetEventRecorder("spillway-offloadingstatus"),
			Clock: now, Pace: throttle.New(progressInterval, progressMost, now),
		}).SetupWithManager(local)},
		{"unscheduledpod", (&podadmission.Unscheduled{
			Client: cached, Provides: o.Provides, SharedCache: o.Views.SharedCache, Live: local.GetAPIReader(), Settings: o.Settings, Events: local.GetEventRecorder("spillway-unscheduledpod"), Clock: now,
		}).SetupWithManager(local)},
		{"webhookremoval", only(o.PodAdmission.Remove, (&podadmission.WebhookRemoval{Client: cached}).SetupWithManager, local)},
		{"strayedpod", only(o.PodAdmission.Webhook, (&podadmission.Strayed{Client: cached, Live: local.GetAPIReader(), Events: local.GetEventRecorder("spillway-strayedpod")}).SetupWithManager, local)},
		{"importedcapacity", (&importedcapacity.Reconciler{Client: cached, Live: local.GetAPIReader(), Events: local.GetEventRecorder("spillway-importedcapacity"), Namespace: o.Settings.ManagerNamespace}).SetupWithManager(local)},
		{"importedclass", (&importedclass.Reconciler{Client: cached, Events: local.GetEventRecorder("spillway-importedclass"), Clock: now}).SetupWithManager(local)},
		{"unplacedclaim", only(o.Provides, unplacedclaim.New(cached, o.Views.SharedCache, local), local)},
		{"release", release.New(cached, o.Views).SetupWithManager(local)},
		{"waitingpod", (&waitingpod.Reconciler{Client: cached, Inventory: present, Events: local.GetEventRecorder("spillway-waitingpod"), Clock: now}).SetupWithManager(run.local)},
		{"stuckpod", (&stuckpod.Reconciler{Client: cached, Inventory: present, Fleet: o.Fleet, Events: local.GetEventRecorder("spillway-stuckpod"), Clock: now}).SetupWithManager(run.local)},
		{"clusterprofile", only(o.ClusterProfiles != "", clusterProfile(local, o, present, run).SetupWithManager, run.local)},
		{"quotastatus", (&quotastatus.Reconciler{Client: cached, Inventory: present, Owner: run.owner, Pace: throttle.New(progressInterval, progressMost, now)}).SetupWithManager(run.local)},
		{"leavingpods", only(run.sharing, (&leavingpods.Reconciler{
			Client: cached, Inventory: present, Owner: run.owner, Pace: throttle.New(statusInterval, statusMost, now),
		}).SetupWithManager, run.local)},
	})
}

// clusterProfile returns the controller that publishes bindings as ClusterProfiles.
func clusterProfile(local ctrl.Manager, o Options, present *inventory.Inventory, run scope) *clusterprofile.Reconciler {
	return &clusterprofile.Reconciler{
		Client: local.GetClient(), Live: local.GetAPIReader(), Inventory: present, Owner: run.owner, Namespace: o.ClusterProfiles,
		Events: local.GetEventRecorder("spillway-clusterprofile"), Clock: clock.RealClock{}, Pace: throttle.New(profileInterval, profileMost, clock.RealClock{}),
		Small: throttle.NewAllowance[string](1, profileSmall, clock.RealClock{}),
	}
}

// podReturn returns the controller that moves pods back to earlier tiers.
func podReturn(local ctrl.Manager, o Options, present *inventory.Inventory, sharing bool) *podreturn.Reconciler {
	return &podreturn.Reconciler{
		Client: local.GetClient(), Kubernetes: o.Kubernetes, Inventory: present, Largest: podreturn.LargestIn(o.Fleet), Exists: podreturn.ExistsIn(o.Fleet), Local: localroom.New(o.Kubernetes),
		Shared: sharing, Events: local.GetEventRecorder("spillway-podreturn"), Clock: clock.RealClock{},
	}
}

// fromProvider returns what follows objects in providers.
func fromProvider(local ctrl.Manager, o Options, authority func() ([]byte, error), warnings engine.FromProvider) []engine.FromProvider {
	all := []engine.FromProvider{warnings, &podtoken.Kind{
		Consumer: local.GetClient(), Authority: authority, Events: local.GetEventRecorder("spillway-podtoken"), Clock: clock.RealClock{}, Life: o.TokenLife,
	}}
	if o.Provides {
		all = append(all, &volume.Kind{Consumer: local.GetClient(), Live: local.GetAPIReader(), Events: local.GetEventRecorder("spillway-volume"), Clock: clock.RealClock{}})
	}
	return all
}

// added is a controller, and the error from adding it to the manager.
type added struct {
	controller string
	err        error
}

// firstOf returns the first error, or nil.
func firstOf(all []added) error {
	for _, one := range all {
		if one.err != nil {
			return fmt.Errorf("adding the %s controller: %w", one.controller, one.err)
		}
	}
	return nil
}

// only adds a controller to the manager when it is needed.
func only(when bool, setup func(ctrl.Manager) error, mgr ctrl.Manager) error {
	if !when {
		return nil
	}
	return setup(mgr)
}
