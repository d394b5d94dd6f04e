package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

// About returns the findings about one provider, and those about the consumer that concern every provider. It leaves
// out those about the pods of teams.
func About(findings []Finding, binding *v1alpha1.ClusterBinding) []Finding {
	of := []string{binding.Name}
	for _, node := range binding.Status.VirtualNodes {
		of = append(of, node.Name)
	}
	of = append(of, binding.VirtualNodeName())
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		switch f.Check {
		case "version", "definitions", "installed", "manager":
			return false
		case "rights":
			return f.Object != "" && f.Object != binding.Name
		case "binding", "credentials", "reach", "clock", "policies", "metrics", "logs", Volumes:
			return !slices.Contains(of, f.Object)
		default:
			return true
		}
	})
}

// Mend says what to do about the reason of a condition; "" if only docs/troubleshooting.md does.
func Mend(reason, binding string) string { return strings.ReplaceAll(mends[reason], "%s", binding) }

// Account connects to a provider from here, with the manager's credentials.
func Account(ctx context.Context, consumer *cli.Cluster, binding *v1alpha1.ClusterBinding) (*cli.Cluster, error) {
	loaded, err := credentials(ctx, consumer, binding)
	if err != nil {
		return nil, err
	}
	return cli.Connect(loaded, "provider "+binding.Name, consumer.Config.UserAgent)
}

// credentials reads the manager's credentials for a provider.
func credentials(ctx context.Context, consumer *cli.Cluster, binding *v1alpha1.ClusterBinding) (*rest.Config, error) {
	document, err := secretOf(ctx, consumer, binding)
	if err != nil {
		return nil, err
	}
	loaded, err := kubeconfig.Load(document)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig in the Secret: %w", err)
	}
	loaded.Timeout = patience
	return loaded, nil
}

// Admission checks whether new pods of a namespace are prepared for providers.
func Admission(ctx context.Context, consumer *cli.Cluster, offloading *v1alpha1.NamespaceOffloading) Finding {
	i := &installation{run: &run{consumer: consumer}}
	if err := i.expect(ctx); err != nil {
		return ofAdmission(offloading.Namespace, Untold, err, false)
	}
	prepared, err := Prepared(ctx, consumer, offloading)
	return ofAdmission(offloading.Namespace, prepared, err, hasWebhook(i.shipped))
}
