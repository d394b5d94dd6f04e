package bind

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/confined"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

const (
	// takeEffect is how long an API server may need to apply policies and roles that were just written.
	takeEffect = 15 * time.Second
	askAgain   = time.Second
)

// confines warns if the provider's policies do not confine the consumer's account, or refuse it everything. It asks at the
// address that your kubeconfig has. content is the kubeconfig of the Secret.
func (w *work) confines(ctx context.Context, content []byte) {
	account, err := asAccount(w.provider.Cluster, content)
	if err != nil {
		w.output.Warn("cannot tell whether the policies of %s confine the consumer: %v", w.provider.Name, err)
		return
	}
	var verdict confined.Verdict
	known := false
	_ = wait.PollUntilContextTimeout(ctx, askAgain, takeEffect, true, func(ctx context.Context) (bool, error) {
		answers := confined.Ask(ctx, account)
		if ctx.Err() == nil { // Otherwise these are no answers.
			verdict, known = confined.Judge(w.wanted.Name, answers)
		}
		if known && !verdict.OK {
			w.output.Waiting("provider: ValidatingAdmissionPolicies: " + verdict.Message)
		}
		return known && verdict.OK, nil
	})
	if known && !verdict.OK {
		w.output.Warn("policies of %s: %s; %s", w.provider.Name, verdict.Message, verdict.Mend)
	}
}

// asAccount connects to a provider with the token of a kubeconfig, at the address that yours has.
func asAccount(provider *cli.Cluster, content []byte) (*cli.Cluster, error) {
	loaded, err := kubeconfig.Load(content)
	if err != nil {
		return nil, err
	}
	as := rest.AnonymousClientConfig(provider.Config)
	as.BearerToken = loaded.BearerToken
	return cli.Connect(as, provider.Name, provider.Config.UserAgent)
}
