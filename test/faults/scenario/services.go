package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/requests"
)

// The ports of the Service, before and after.
const (
	portBefore = 80
	portAfter  = 81
)

// A Service has no finalizer, and nothing waits for its copy. Whatever happens to the manager, the copy
// follows the Service, and is deleted with it.
var serviceLife = Scenario{
	Name: "service-created-changed-deleted", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "a Service is created",
		Do:    func(ctx context.Context, w *world.World) error { return w.Create(ctx, service(team)) },
		Until: serviceIs(portBefore, world.P1),
	}, {
		Name:  "its port is changed",
		Do:    change(world.Consumer, named(team, front), func(_ *world.World, local *corev1.Service) { local.Spec.Ports[0].Port = portAfter }),
		Until: serviceIs(portAfter, world.P1),
	}, {
		Name:  "it is deleted",
		Do:    deleteLocal(&corev1.Service{}, team, front),
		Until: all(gone[corev1.Service](world.Consumer, named(team, front)), gone[corev1.Service](world.P1, remotely(team, front))),
	}},
}

var serviceMadeAgain = Scenario{
	Name: "service-made-again", Prepare: withService,
	Steps: []Step{{
		Name: "it is deleted, and another one of its name is created at once",
		Do: func(ctx context.Context, w *world.World) error {
			if err := deleteLocal(&corev1.Service{}, team, front)(ctx, w); err != nil {
				return err
			}
			headless := service(team)
			headless.Spec.ClusterIP = corev1.ClusterIPNone
			return w.Create(ctx, headless)
		},
		Until: all(serviceIs(portBefore, world.P1), isHeadless(world.P1)),
	}},
}

var servicesUnlisted = Scenario{
	Name: "services-taken-off-the-list", Prepare: withService,
	Steps: []Step{{
		Name:  "the offloading lists nothing",
		Do:    listing(),
		Until: all(gone[corev1.Service](world.P1, remotely(team, front)), unmarked[corev1.Service](team, front), offloaded(team, world.P1)),
	}, {
		Name:  "it lists Services again",
		Do:    listing(v1alpha1.OffloadedServices),
		Until: serviceIs(portBefore, world.P1),
	}},
}

// The copy is deleted with the remote namespace.
var unOffloadServices = Scenario{
	Name: "un-offload-with-service", Prepare: withService,
	Steps: []Step{{
		Name:  "the offloading is deleted, with a pod and a Service in the provider",
		Do:    deleteLocal(&v1alpha1.NamespaceOffloading{}, team, v1alpha1.OffloadingName),
		Until: all(notOffloaded(team, world.P1), podGone(team, web, world.P1), unmarked[corev1.Service](team, front)),
	}},
}

// docs/applications.md: the manager reverts changes that somebody makes in the provider.
var serviceOpened = Scenario{
	Name: "service-opened", Prepare: withService,
	Steps: []Step{{
		Name: "somebody opens the copy to the outside",
		Do: change(world.P1, remotely(team, front), func(_ *world.World, remote *corev1.Service) {
			remote.Spec.Type, remote.Spec.ExternalIPs = corev1.ServiceTypeNodePort, []string{"192.0.2.1"}
		}),
		Until: serviceIs(portBefore, world.P1),
	}, {
		Name:  "somebody deletes it",
		Do:    deleteIn(world.P1, &corev1.Service{}, remotely(team, front)),
		Until: serviceIs(portBefore, world.P1),
	}},
}

var foreignService = Scenario{
	Name: "foreign-service", Prepare: all(bindAndOffload(world.P1), func(ctx context.Context, w *world.World) error {
		theirs := service(w.Remote(team))
		theirs.Labels = labelsOfStranger()
		return w.CreateIn(ctx, world.P1, theirs)
	}),
	Steps: []Step{{
		Name:  "a Service is created whose name is taken",
		Do:    func(ctx context.Context, w *world.World) error { return w.Create(ctx, service(team)) },
		Until: all(asked(world.P1, requests.Create, "services", front), untouched[corev1.Service](remotely(team, front))),
	}, {
		Name:  "somebody deletes what is in the way",
		Do:    deleteIn(world.P1, &corev1.Service{}, remotely(team, front)),
		Until: serviceIs(portBefore, world.P1),
	}},
}

// service is the Service of the team or of a stranger.
func service(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: front},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": web}, Ports: []corev1.ServicePort{{Port: portBefore}}},
	}
}

// withService runs a pod and a Service in the provider.
var withService = all(withPod(world.P1), func(ctx context.Context, w *world.World) error {
	if err := w.Create(ctx, service(team)); err != nil {
		return err
	}
	return eventually(ctx, w, serviceIs(portBefore, world.P1))
})

// listing sets the kinds that the offloading lists.
func listing(resources ...v1alpha1.OffloadedResource) Func {
	return change(world.Consumer, named(team, v1alpha1.OffloadingName), func(_ *world.World, nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Resources = append([]v1alpha1.OffloadedResource{}, resources...)
	})
}

// serviceIs wants the copy of the Service to have that port and the mark, and to be reachable only within the
// provider. The Service itself must be unchanged.
func serviceIs(port int32, provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[corev1.Service](ctx, w, world.Consumer, team, front)
		if err != nil {
			return err
		}
		remote, err := get[corev1.Service](ctx, w, provider, w.Remote(team), front)
		if err != nil {
			return err
		}
		if err := unmarked[corev1.Service](team, front)(ctx, w); err != nil {
			return err
		}
		stands := provenance.Local{Namespace: team, Name: front, UID: local.UID}
		return wrap("the copy of Service "+front,
			same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
			same("what it stands for", provenance.LocalOf(remote), stands),
			same("that it stays", remote.DeletionTimestamp.IsZero(), true),
			same("the type", remote.Spec.Type, corev1.ServiceTypeClusterIP),
			same("how many external IPs it has", len(remote.Spec.ExternalIPs), 0),
			same("the port", remote.Spec.Ports[0].Port, port),
			same("the port of nodes", remote.Spec.Ports[0].NodePort, 0),
			same("what it selects", remote.Spec.Selector["app"], web))
	}
}

// isHeadless wants the copy to have no cluster IP.
func isHeadless(provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		remote, err := get[corev1.Service](ctx, w, provider, w.Remote(team), front)
		if err != nil {
			return err
		}
		return same("the address of the Service", remote.Spec.ClusterIP, corev1.ClusterIPNone)
	}
}
