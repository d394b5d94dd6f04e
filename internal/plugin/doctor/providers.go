package doctor

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

// patience is how long a provider may take to answer.
const patience = 10 * time.Second

// providers checks the bindings, and their providers with the manager's credentials.
type providers struct {
	*run
	seen status.Seen
}

func (p *providers) bindings(ctx context.Context) {
	if p.seen.Hides(status.Bindings) {
		p.found(Finding{Level: Warning, Check: "binding", Message: "the state of providers is unknown: you may not read " + status.Bindings, Mend: "run doctor as a cluster administrator"})
		return
	}
	for _, binding := range status.Tree(p.seen).Bindings {
		p.binding(ctx, binding)
	}
}

func (p *providers) binding(ctx context.Context, binding status.Binding) {
	if !slices.ContainsFunc(binding.Waits, func(wait status.Wait) bool { return !grows(wait) }) {
		p.found(Finding{Level: OK, Check: "binding", Object: binding.Name, Message: "it is Ready, with Kubernetes " + binding.Version})
	}
	for _, wait := range binding.Waits {
		if !p.repeats(binding, wait) {
			p.found(ofWait(binding, wait))
		}
	}
	for _, namespace := range binding.Namespaces {
		for _, wait := range namespace.Waits {
			if !goes(wait) {
				p.found(ofNamespace(binding.Name, namespace, wait))
			}
		}
	}
	for i := range p.seen.Bindings {
		if p.seen.Bindings[i].Name != binding.Name {
			continue
		}
		if f := ofDrain(&p.seen.Bindings[i], p.seen.Nodes); f != nil {
			p.found(*f)
		}
		p.provider(ctx, &p.seen.Bindings[i])
		// While the provider is away nobody gets logs from it, whether or not the API server reaches the
		// manager.
		if meta.IsStatusConditionTrue(p.seen.Bindings[i].Status.Conditions, v1alpha1.BindingConnected) {
			p.logsOf(ctx, binding)
		}
	}
}

// provider examines a provider with the manager's credentials.
func (p *providers) provider(ctx context.Context, binding *v1alpha1.ClusterBinding) {
	loaded, err := credentials(ctx, p.consumer, binding)
	if apierrors.IsForbidden(err) {
		p.found(Finding{Level: Warning, Check: "credentials", Object: binding.Name, Message: "you may not read them: the provider was not checked", Mend: "run doctor as a cluster administrator"})
		return
	}
	if err != nil {
		p.found(Finding{
			Level: Error, Check: "credentials", Object: binding.Name, Message: "they cannot be used: " + err.Error(),
			Mend: "kubectl spillway bind " + binding.Name + " --provider-context CONTEXT",
		})
		return
	}
	_, from, until := kubeconfig.Validity(loaded)
	p.found(ofExpiry(binding.Name, from, until, time.Now()))
	if !until.IsZero() && time.Now().After(until) {
		return // The provider says no more than that to expired credentials.
	}
	there, err := clock(ctx, loaded)
	if err != nil {
		p.found(Finding{
			Level: Warning, Check: "reach", Object: binding.Name, Message: "it is not reachable from here, which may be intended: " + err.Error(),
			Mend: "if the binding is not Ready either: from the network of the manager's pods, try " + loaded.Host,
		})
		return
	}
	p.found(Finding{Level: OK, Check: "reach", Object: binding.Name, Message: loaded.Host + " answers"})
	if here, err := clock(ctx, p.consumer.Config); err == nil {
		p.found(ofClock(binding.Name, there.ahead(here)))
	}
	account, err := cli.Connect(loaded, "provider "+binding.Name, p.consumer.Config.UserAgent)
	if err != nil {
		p.found(Finding{Level: Error, Check: "rights", Object: binding.Name, Message: "the consumer's rights in the provider are unknown: " + err.Error()})
		return
	}
	p.accountRights(ctx, binding.Name, account)
	p.policies(ctx, binding.Name, account)
	p.metrics(ctx, binding.Name, loaded)
}

// accountRights asks a provider whether the consumer's account has the rights of its roles.
func (p *providers) accountRights(ctx context.Context, name string, account *cli.Cluster) {
	mend := "kubectl spillway bind " + name + " --provider-context CONTEXT applies the roles again; roles for logs, exec and metrics that the provider's administrator has deleted are in config/provider/role_*.yaml"
	shipped, err := config.Objects("provider")
	if err != nil {
		p.found(Finding{Level: Error, Check: "rights", Object: name, Message: err.Error()})
		return
	}
	roles, err := Granted(shipped, config.ProviderAccount)
	if err != nil {
		p.found(Finding{Level: Error, Check: "rights", Object: name, Message: err.Error()})
		return
	}
	missing, err := account.Lacks(ctx, rightsOf(roles))
	if err != nil {
		p.found(Finding{Level: Error, Check: "rights", Object: name, Message: "the consumer's rights in the provider are unknown: " + err.Error(), Mend: mend})
		return
	}
	p.found(ofRights(name, "the consumer's account", missing, roles, mend))
}

// secretOf reads the kubeconfig of a binding.
func secretOf(ctx context.Context, consumer client.Client, binding *v1alpha1.ClusterBinding) ([]byte, error) {
	secret := &corev1.Secret{}
	ref := binding.Spec.KubeconfigSecretRef
	if err := consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: ref.Name}, secret); err != nil {
		return nil, err
	}
	return secret.Data[ref.Key], nil
}

// reading is the date in an API server's answer, in whole seconds, with the times of the request and the
// answer by the clock of this computer.
type reading struct{ date, asked, answered time.Time }

// ahead returns how far a clock is ahead of another one, at least. Negative: behind.
func (r reading) ahead(of reading) time.Duration {
	least, most := of.date.Sub(of.answered), of.date.Add(time.Second).Sub(of.asked) // How far the other clock is ahead of ours.
	return connection.ClockSkew(r.date, r.asked.Add(least), r.answered.Add(most))
}

// clock reads the clock of an API server.
func clock(ctx context.Context, config *rest.Config) (reading, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return reading{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+"/version", nil)
	if err != nil {
		return reading{}, err
	}
	read := reading{asked: time.Now()}
	response, err := client.Do(request)
	if err != nil {
		return reading{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read.answered = time.Now()
	read.date, err = http.ParseTime(response.Header.Get("Date"))
	return read, err
}
