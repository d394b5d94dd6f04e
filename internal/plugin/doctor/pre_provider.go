package doctor

import (
	"context"

	"github.com/spillway-io/spillway/internal/plugin/bind"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// provider checks a provider as its administrator.
func (b *before) provider(ctx context.Context, provider *cli.Provider) error {
	there, err := clock(ctx, b.cluster.Config)
	if err != nil {
		b.found(Finding{Level: Error, Check: "reach", Object: b.name, Message: "it does not answer: " + err.Error(), Mend: "check the address and the credentials of its context"})
		return nil
	}
	b.found(Finding{Level: OK, Check: "reach", Object: b.name, Message: provider.Endpoint.Server + " answers"})
	if here, err := clock(ctx, b.consumer.Config); err == nil {
		b.found(ofClock(b.name, there.ahead(here)))
	}
	if cli.Loopback(provider.Endpoint.Server) {
		b.found(Finding{
			Level: Warning, Check: "address", Object: b.name, Message: provider.Endpoint.Server + " is a loopback address: the manager reaches it only if it runs on this machine",
			Mend: "kubectl spillway bind with --provider-server and the address at which the consumer reaches the provider",
		})
	}
	found, err := b.cluster.Version()
	if err != nil {
		return err
	}
	b.found(ofProviderVersion(b.name, found.String(), found.LessThan(bind.Oldest)))
	if err := b.servesPolicies(); err != nil {
		return err
	}
	b.identity(ctx)
	manifests, err := bind.Manifests(bind.DefaultProfile)
	if err != nil {
		return err
	}
	b.rights(ctx, bind.InProvider(provider, manifests), "ask its administrator for these, or to run kubectl spillway bind")
	b.inTheWay(ctx, manifests)
	b.nodes(ctx, noNodeThere)
	return nil
}

func ofProviderVersion(name, found string, old bool) Finding {
	if old {
		return Finding{
			Level: Error, Check: "version", Object: name, Message: "it has Kubernetes " + found + ", which is too old: the policies that confine the consumer need " + bind.Oldest.String() + " or later",
			Mend: "update it, or choose another provider",
		}
	}
	return Finding{Level: OK, Check: "version", Object: name, Message: "it has Kubernetes " + found}
}

// identity checks that the provider is another cluster.
func (b *before) identity(ctx context.Context) {
	here, err := b.consumer.UID(ctx)
	if err != nil {
		b.found(Finding{Level: Error, Check: "identity", Object: "consumer", Message: err.Error()})
		return
	}
	there, err := b.cluster.UID(ctx)
	switch {
	case err != nil:
		b.found(Finding{Level: Error, Check: "identity", Object: b.name, Message: err.Error()})
	case here == there:
		b.found(Finding{Level: Error, Check: "identity", Object: b.name, Message: "it is the consumer itself", Mend: "use the context of another cluster"})
	default:
		b.found(Finding{Level: OK, Check: "identity", Object: b.name, Message: "it is another cluster than the consumer"})
	}
}
