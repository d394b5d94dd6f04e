package scenario

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/samples"
)

// The addresses of the Ingress in the two providers.
const (
	addressInP1 = "203.0.113.1"
	addressInP2 = "203.0.113.2"
)

// Whatever happens to the manager, an Ingress of a mapped class is served in both providers, with its
// certificate, and shows its addresses there.
var ingressLife = Scenario{
	Name: "ingress-life", Prepare: mappingAndOffloaded(world.P1, world.P2),
	Steps: []Step{{
		Name: "an Ingress is created, whose certificate is in a Secret",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, secret("1"), &networkingv1.Ingress{
				ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: front},
				Spec: networkingv1.IngressSpec{
					IngressClassName: ptr.To(samples.IngressClass), Rules: []networkingv1.IngressRule{{Host: "a." + samples.Domain}},
					TLS: []networkingv1.IngressTLS{{Hosts: []string{"a." + samples.Domain}, SecretName: password}},
				},
			})
		},
		Until: all(ingressIs("", world.P1, world.P2), secretIs("1", world.P1, remotely(team, password)), secretIs("1", world.P2, remotely(team, password))),
	}, {
		Name: "it gets an address in each provider",
		Do: func(ctx context.Context, w *world.World) error {
			if err := addressed(ctx, w, world.P1, addressInP1); err != nil {
				return err
			}
			return addressed(ctx, w, world.P2, addressInP2)
		},
		Until: ingressIs(addressInP1+","+addressInP2, world.P1, world.P2),
	}, {
		Name: "it gets a host that no provider lists",
		Do: change(world.Consumer, named(team, front), func(_ *world.World, local *networkingv1.Ingress) {
			local.Spec.Rules[0].Host = "example.org"
		}),
		Until: all(ingressIs(""), gone[networkingv1.Ingress](world.P1, remotely(team, front)), gone[networkingv1.Ingress](world.P2, remotely(team, front)),
			gone[corev1.Secret](world.P1, remotely(team, password)), gone[corev1.Secret](world.P2, remotely(team, password))),
	}, {
		Name:  "it is deleted",
		Do:    deleteLocal(&networkingv1.Ingress{}, team, front),
		Until: gone[networkingv1.Ingress](world.Consumer, named(team, front)),
	}},
}

// bindMapping binds providers with the sample classes mapped.
func bindMapping(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		mapping := func(binding *v1alpha1.ClusterBinding) { binding.Spec.Classes = samples.Classes() }
		if err := w.Bind(ctx, mapping, providers...); err != nil {
			return err
		}
		return eventually(ctx, w, bound(providers...))
	}
}

// addressed plays the controller that serves the Ingress in a provider.
func addressed(ctx context.Context, w *world.World, provider, address string) error {
	remote, err := get[networkingv1.Ingress](ctx, w, provider, w.Remote(team), front)
	if err != nil {
		return err
	}
	remote.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: address}}
	return w.Cluster(provider).Admin.Status().Update(ctx, remote)
}

// ingressIs wants the Ingress to show these comma-separated addresses, and to have a copy in each of the
// providers.
func ingressIs(addresses string, providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[networkingv1.Ingress](ctx, w, world.Consumer, team, front)
		if err != nil {
			return err
		}
		var shown []string
		for _, entry := range local.Status.LoadBalancer.Ingress {
			shown = append(shown, entry.IP)
		}
		if err := wrap("Ingress "+front, same("its addresses", strings.Join(shown, ","), addresses),
			same("how many annotations it has", len(local.Annotations), len(shown))); err != nil {
			return err
		}
		for _, provider := range providers {
			remote, err := get[networkingv1.Ingress](ctx, w, provider, w.Remote(team), front)
			if err != nil {
				return err
			}
			err = wrap("the copy of Ingress "+front,
				same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
				same("what it stands for", provenance.LocalOf(remote), provenance.Local{Namespace: team, Name: front, UID: local.UID}),
				same("that it stays", remote.DeletionTimestamp.IsZero(), true),
				same("the host", remote.Spec.Rules[0].Host, "a."+samples.Domain))
			if err != nil {
				return err
			}
		}
		return nil
	}
}
