package scenario

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/samples"
)

// Whatever happens to the manager, a Service of a mapped class has its load balancer in the provider, and
// shows that address, as long as the class is mapped.
var balancerLife = Scenario{
	Name: "load-balancer-life", Prepare: mappingAndOffloaded(world.P1),
	Steps: []Step{{
		Name:  "a Service of a class that is mapped is created",
		Do:    func(ctx context.Context, w *world.World) error { return w.Create(ctx, balanced()) },
		Until: balancerIs(corev1.ServiceTypeLoadBalancer),
	}, {
		Name:  "its load balancer gets an address in the provider",
		Do:    balancedAt(addressInP1),
		Until: balancerIs(corev1.ServiceTypeLoadBalancer, addressInP1),
	}, {
		Name:  "the class is not mapped any more",
		Do:    mapping(),
		Until: balancerIs(corev1.ServiceTypeClusterIP),
	}, {
		Name:  "the Service is deleted",
		Do:    deleteLocal(&corev1.Service{}, team, front),
		Until: all(gone[corev1.Service](world.Consumer, named(team, front)), gone[corev1.Service](world.P1, remotely(team, front))),
	}},
}

// docs/applications.md: Spillway does not show an address that belongs to the consumer itself, or that no
// load balancer can have.
var hostileBalancer = Scenario{
	Name: "hostile-load-balancer", Prepare: all(mappingAndOffloaded(world.P1), func(ctx context.Context, w *world.World) error {
		if err := w.Create(ctx, balanced()); err != nil {
			return err
		}
		return eventually(ctx, w, balancerIs(corev1.ServiceTypeLoadBalancer))
	}),
	Steps: []Step{{
		Name:  "the provider reports addresses, of which one may be shown",
		Do:    balancedAt("127.0.0.1", itself, "169.254.169.254", addressInP1, "web.team.svc.cluster.local"),
		Until: balancerIs(corev1.ServiceTypeLoadBalancer, addressInP1),
	}, {
		Name:  "it reports that one no more",
		Do:    balancedAt(itself, "localhost.localdomain"),
		Until: balancerIs(corev1.ServiceTypeLoadBalancer),
	}},
}

// mappingAndOffloaded binds providers with a mapped load balancer class, and offloads the team's namespace to
// them.
func mappingAndOffloaded(providers ...string) Func {
	return all(bindMapping(providers...), func(ctx context.Context, w *world.World) error {
		if err := w.Offload(ctx, team); err != nil {
			return err
		}
		return eventually(ctx, w, offloaded(team, providers...))
	})
}

// mapping sets the class mappings of P1's binding.
func mapping(classes ...v1alpha1.ClassMapping) Func {
	return change(world.Consumer, named("", world.P1), func(_ *world.World, binding *v1alpha1.ClusterBinding) {
		binding.Spec.Classes = classes
	})
}

// balanced is the team's Service with a load balancer. It gets no node ports, because these would differ
// between runs.
func balanced() *corev1.Service {
	local := service(team)
	local.Spec.Type, local.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(samples.Balancer)
	local.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
	return local
}

// itself stands for the Service's own address in the consumer.
const itself = "itself"

// balancedAt plays the provider's controller: it reports these addresses and hostnames of the load balancer.
func balancedAt(addresses ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[corev1.Service](ctx, w, world.Consumer, team, front)
		if err != nil {
			return err
		}
		remote, err := get[corev1.Service](ctx, w, world.P1, w.Remote(team), front)
		if err != nil {
			return err
		}
		remote.Status.LoadBalancer.Ingress = nil
		for _, address := range addresses {
			entry := corev1.LoadBalancerIngress{IP: address}
			switch {
			case address == itself:
				entry.IP = local.Spec.ClusterIP
			case strings.Contains(address, "local"):
				entry = corev1.LoadBalancerIngress{Hostname: address}
			}
			remote.Status.LoadBalancer.Ingress = append(remote.Status.LoadBalancer.Ingress, entry)
		}
		return w.Cluster(world.P1).Admin.Status().Update(ctx, remote)
	}
}

// balancerIs wants the Service's copy to have that type, and the Service to show these addresses as this
// provider's.
func balancerIs(of corev1.ServiceType, addresses ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[corev1.Service](ctx, w, world.Consumer, team, front)
		if err != nil {
			return err
		}
		remote, err := get[corev1.Service](ctx, w, world.P1, w.Remote(team), front)
		if err != nil {
			return err
		}
		var shown []string
		for _, entry := range local.Status.LoadBalancer.Ingress {
			shown = append(shown, entry.IP+entry.Hostname)
		}
		want := strings.Join(addresses, ",")
		return wrap("Service "+front,
			same("its addresses", strings.Join(shown, ","), want),
			same("those that are said to be the provider's", local.Annotations[v1alpha1.AnnotationAddressesPrefix+world.P1], want),
			same("that the copy stays", remote.DeletionTimestamp.IsZero(), true),
			same("its type", remote.Spec.Type, of),
			same("that it has the class", ptr.Deref(remote.Spec.LoadBalancerClass, "") == samples.Balancer, of == corev1.ServiceTypeLoadBalancer))
	}
}
