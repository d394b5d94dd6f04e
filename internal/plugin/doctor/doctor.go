// Package doctor is kubectl spillway doctor: it finds what is wrong, and says how to fix it.
package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/check"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// Command returns the command doctor.
func Command(f *cli.Factory) *cobra.Command {
	var format string
	var all, pre bool
	var flags cli.ProviderFlags
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong, and say how to fix it",
		Long: `Checks versions, the installation, the manager's rights in the consumer and in each provider, bindings, credentials,
clocks, the provider's policies and metrics, whether the API server reaches virtual nodes, pods that should be in a provider and are not, pods that a provider refuses, and DaemonSets. It
creates a pod in an offloaded namespace, and forbidden objects in each provider, in dry runs only: to see whether the pod could run in a provider,
and whether policies refuse the others. It checks all namespaces, also with -n. It changes nothing. It connects to providers from here, with the
manager's credentials, if you may read them. The exit code is 1 if something does not work; a warning alone is no failure.

--pre checks, before kubectl spillway install, versions, APIs, your rights, definitions of another version, names in
the way, and whether a node is Ready; with --provider-context also the provider: address, clock, rights, nodes.`,
		Example: `  kubectl spillway doctor
  kubectl spillway doctor -o json | jq '.[] | select(.level == "error")'

  # Before install and bind
  kubectl spillway doctor --pre --provider-context eu`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			consumer, err := f.Consumer()
			if err != nil {
				return err
			}
			findings, err := examine(command.Context(), f, consumer, pre, flags)
			if err != nil {
				return err
			}
			if format != "" {
				err = cli.Print(f.Out, format, findings)
			} else {
				_, err = fmt.Fprint(f.Out, Text(findings, all))
			}
			if Worst(findings) == Error {
				err = errors.Join(err, errors.New("something does not work; see above"))
			}
			return err
		},
	}
	cli.AddFormat(command.Flags(), &format)
	flags.AddTo(command.Flags())
	command.Flags().BoolVar(&all, "all", false, "show checks that passed, too")
	command.Flags().BoolVar(&pre, "pre", false, "check whether install and bind would work, before anything is installed")
	_ = command.RegisterFlagCompletionFunc("provider-context", f.CompleteContexts(&flags)) // It fails only if the flag does not exist.
	return command
}

// examine runs the checks before or after the installation.
func examine(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, pre bool, flags cli.ProviderFlags) ([]Finding, error) {
	if err := status.Known(ctx, consumer, ptr.Deref(f.Namespace, "")); err != nil {
		return nil, err
	}
	switch {
	case !pre && flags.Given():
		return nil, errors.New("--provider-context and --provider-kubeconfig are for --pre: without it, doctor uses the manager's credentials")
	case !pre:
		return Examine(ctx, consumer)
	case !flags.Given():
		return Before(ctx, consumer, nil)
	}
	provider, err := f.Provider(flags)
	if err != nil {
		return nil, err
	}
	return Before(ctx, consumer, provider)
}

// run is what all checks have: the cluster that they look at, and what they have found so far.
type run struct {
	consumer *cli.Cluster
	findings []Finding
}

func (r *run) found(f Finding) { r.findings = append(r.findings, f) }

// exam checks the manager, and what runs on which nodes in the consumer.
type exam struct {
	*run
	seen status.Seen
}

// Examine runs all checks. It returns an error only if the other checks would mean nothing.
func Examine(ctx context.Context, consumer *cli.Cluster) ([]Finding, error) {
	r := &run{consumer: consumer}
	i := &installation{run: r}
	if err := i.version(); err != nil {
		return nil, err
	}
	if err := i.expect(ctx); err != nil {
		return nil, err
	}
	installed, err := i.installed(ctx)
	if err != nil || !installed {
		return r.findings, err
	}
	seen, err := status.Read(ctx, consumer, "")
	if err != nil {
		return nil, err
	}
	e, p := &exam{r, seen}, &providers{r, seen}
	e.manager()
	i.rights(ctx)
	i.volumes(ctx, seen.Bindings)
	e.offloadings()
	p.bindings(ctx)
	e.admission(ctx, hasWebhook(i.shipped))
	e.strays()
	e.stranded()
	e.refused()
	e.daemonSets(ctx)
	return r.findings, nil
}

func (e *exam) manager() {
	if e.seen.Hides(status.ManagerParts) {
		e.found(Finding{Level: Warning, Check: "manager", Message: "its availability is unknown: you may not read " + status.ManagerParts, Mend: "run doctor as a cluster administrator"})
		return
	}
	if e.seen.Outside != "" {
		e.found(Finding{Level: OK, Check: "manager", Message: "it runs outside of this cluster, as " + e.seen.Outside + ", which holds the Lease " + config.Namespace + "/" + check.LeaseName})
		return
	}
	if e.seen.Available {
		e.found(Finding{Level: OK, Check: "manager", Message: "it is available"})
		return
	}
	e.found(Finding{
		Level: Error, Check: "manager", Message: "it is not available: " + e.seen.Waits,
		Mend: "kubectl describe pods -n " + config.Namespace + "; kubectl spillway install --image IMAGE, if the image is wrong; if it has 0 replicas, kubectl scale deployment " + config.Manager + " -n " +
			config.Namespace + " --replicas=2, or, if a manager runs outside of this cluster, restart that with --leader-elect",
	})
}
