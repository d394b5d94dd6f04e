package scenario

import (
	"context"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/controllers/toprovider/endpointslice"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
)

// database is the name of the EndpointSlice.
const database = "database"

// The addresses that it has: the provider allows 192.0.2.0/24.
const (
	within  = "192.0.2.1"
	within2 = "192.0.2.2"
	outside = "198.51.100.1"
)

// Whatever happens to the manager, the copy has exactly the addresses that the provider allows.
var endpointSliceLife = Scenario{
	Name: "endpointslice-created-changed-deleted", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "an EndpointSlice is created, with one address that the provider allows and one that it does not",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, endpoints(within, outside))
		},
		Until: endpointsAre(world.P1, within),
	}, {
		Name: "it gets another address",
		Do: change(world.Consumer, named(team, database), func(_ *world.World, local *discoveryv1.EndpointSlice) {
			local.Endpoints = endpoints(within2, within, outside).Endpoints
		}),
		Until: endpointsAre(world.P1, within, within2),
	}, {
		Name:  "it is deleted",
		Do:    deleteLocal(&discoveryv1.EndpointSlice{}, team, database),
		Until: all(gone[discoveryv1.EndpointSlice](world.Consumer, named(team, database)), gone[discoveryv1.EndpointSlice](world.P1, remotely(team, database))),
	}},
}

// endpoints is an EndpointSlice with these addresses, for a Service without a selector.
func endpoints(addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: team, Name: database, Labels: map[string]string{discoveryv1.LabelServiceName: database}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](portBefore)}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return slice
}

// endpointsAre wants the copy to have these addresses, and the EndpointSlice itself to be unchanged.
func endpointsAre(provider string, addresses ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[discoveryv1.EndpointSlice](ctx, w, world.Consumer, team, database)
		if err != nil {
			return err
		}
		remote, err := get[discoveryv1.EndpointSlice](ctx, w, provider, w.Remote(team), database)
		if err != nil {
			return err
		}
		if err := unmarked[discoveryv1.EndpointSlice](team, database)(ctx, w); err != nil {
			return err
		}
		var has []string
		for _, endpoint := range remote.Endpoints {
			has = append(has, endpoint.Addresses...)
		}
		return wrap("the copy of EndpointSlice "+database,
			same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
			same("what it stands for", provenance.LocalOf(remote), provenance.Local{Namespace: team, Name: database, UID: local.UID}),
			same("that it stays", remote.DeletionTimestamp.IsZero(), true),
			same("who manages it", remote.Labels[discoveryv1.LabelManagedBy], endpointslice.EndpointSliceManager),
			same("that it says what it lacks", field.LeftOut(remote) != "", true),
			same("its addresses", strings.Join(has, ","), strings.Join(addresses, ",")))
	}
}
