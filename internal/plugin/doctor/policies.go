package doctor

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/plugin/confined"
)

// policies checks whether the provider's policies confine the consumer's account.
func (p *providers) policies(ctx context.Context, name string, account client.Client) {
	verdict, known := confined.Judge(name, confined.Ask(ctx, account))
	if !known {
		return
	}
	f := Finding{Level: OK, Check: "policies", Object: name, Message: verdict.Message, Mend: verdict.Mend}
	if !verdict.OK {
		f.Level = Error
	}
	p.found(f)
}
