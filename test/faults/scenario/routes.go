package scenario

import (
	"context"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/samples"
)

// Whatever happens to the manager, a route at a mapped Gateway is served in both providers, and shows what
// their controllers report.
var routeLife = Scenario{
	Name: "route-life", Prepare: ingressLife.Prepare,
	Steps: []Step{{
		Name: "an HTTPRoute is created",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, samples.HTTPRoute(team, front, "").Object)
		},
		Until: routeIs(nil, world.P1, world.P2),
	}, {
		Name: "it is accepted in each provider",
		Do: func(ctx context.Context, w *world.World) error {
			for _, provider := range []string{world.P1, world.P2} {
				remote, err := get[gatewayv1.HTTPRoute](ctx, w, provider, w.Remote(team), front)
				if err != nil {
					return err
				}
				samples.HTTPRoute("", "", "").Report(remote)
				if err := w.Cluster(provider).Admin.Status().Update(ctx, remote); err != nil {
					return err
				}
			}
			return nil
		},
		Until: routeIs([]string{world.P1, world.P2}, world.P1, world.P2),
	}, {
		Name: "it gets a host that no provider lists",
		Do: change(world.Consumer, named(team, front), func(_ *world.World, local *gatewayv1.HTTPRoute) {
			local.Spec.Hostnames[0] = "example.org"
		}),
		Until: all(routeIs(nil), gone[gatewayv1.HTTPRoute](world.P1, remotely(team, front)), gone[gatewayv1.HTTPRoute](world.P2, remotely(team, front))),
	}, {
		Name:  "it is deleted",
		Do:    deleteLocal(&gatewayv1.HTTPRoute{}, team, front),
		Until: gone[gatewayv1.HTTPRoute](world.Consumer, named(team, front)),
	}},
}

// routeIs wants the HTTPRoute to show the reports of these providers, and to have a copy in each of the
// providers.
func routeIs(reporters []string, providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[gatewayv1.HTTPRoute](ctx, w, world.Consumer, team, front)
		if err != nil {
			return err
		}
		var told []string
		for _, entry := range local.Status.Parents {
			told = append(told, strings.TrimPrefix(string(entry.ControllerName), "spillway.io/"))
		}
		slices.Sort(told)
		if err := wrap("HTTPRoute "+front, same("who has told something", strings.Join(told, ","), strings.Join(reporters, ","))); err != nil {
			return err
		}
		for _, provider := range providers {
			remote, err := get[gatewayv1.HTTPRoute](ctx, w, provider, w.Remote(team), front)
			if err != nil {
				return err
			}
			err = wrap("the copy of HTTPRoute "+front,
				same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
				same("what it stands for", provenance.LocalOf(remote), provenance.Local{Namespace: team, Name: front, UID: local.UID}),
				same("that it stays", remote.DeletionTimestamp.IsZero(), true),
				same("the host", string(remote.Spec.Hostnames[0]), front+"."+samples.Domain))
			if err != nil {
				return err
			}
		}
		return nil
	}
}
