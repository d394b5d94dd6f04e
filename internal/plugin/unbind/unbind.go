// Package unbind is kubectl spillway unbind: it drains a provider, and deletes its binding.
package unbind

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spillway-io/spillway/internal/plugin/cli"
)

type options struct {
	cli.Run
	provider cli.ProviderFlags
	yes      bool
}

// Command returns the command unbind.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{Run: cli.Run{Timeout: 10 * time.Minute}}
	command := &cobra.Command{
		Use:   "unbind NAME",
		Short: "Drain a provider, and delete its binding",
		Long: `Deletes a ClusterBinding, and waits until its pods are evicted, its remote namespaces are deleted with everything in them, and
its node is gone; then deletes the Secret, if kubectl spillway bind created it. Pods without a controller are lost. --dry-run
lists these pods and namespaces. It warns of pods that need this node, and of PodDisruptionBudgets that block evictions. On a terminal it asks first, unless you give --yes; without one it does not ask.

What bind created in the provider stays, since another consumer may use it, unless you give --provider-context. Then its access
and token end: the account and its roles are deleted, if no consumer has anything left there and no other binding uses
the same provider. If the ClusterBinding is already gone, it deletes what is left in both clusters. If its Secret is gone, too,
the provider is unknown: without a terminal, this then needs --yes. Without --provider-context, nothing is left to do then: it
warns, since the name may be misspelt, and the exit code is 0, since an earlier run may have unbound it. The limits and the policies stay. They affect only
consumers, and an API server that has lost its last policy with limits finds new ones only after a restart
(https://github.com/kubernetes/kubernetes/issues/130887), so it could not be bound again.`,
		Example: `  # What it deletes
  kubectl spillway unbind eu --dry-run

  kubectl spillway unbind eu

  # And end the access to the provider
  kubectl spillway unbind eu --provider-context eu`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		return o.run(ctx, f, consumer, output, args[0])
	})
	o.AddTo(command.Flags())
	o.provider.AddTo(command.Flags())
	cli.AddYes(command.Flags(), &o.yes)
	command.Flags().Lookup("yes").Usage += ", and needs this if the binding and its Secret are gone"
	_ = command.RegisterFlagCompletionFunc("provider-context", f.CompleteContexts(&o.provider)) // It fails only if the flag does not exist.
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output, name string) error {
	left, err := read(ctx, consumer, name)
	if err != nil {
		return err
	}
	if left.binding == nil {
		left.missing(output, o.provider.Given())
	}
	var provider *cli.Provider
	if o.provider.Given() {
		provider, err = left.open(ctx, f, consumer, o.provider)
		if err != nil && left.binding == nil {
			return left.unfinished(err)
		}
		if err != nil {
			return err
		}
	}
	if err := o.binding(ctx, f, consumer, output, left, provider); err != nil {
		return err
	}
	if provider != nil {
		if done, err := o.clean(ctx, consumer, provider.Cluster, output, left); err != nil || !done {
			return err
		}
	}
	// The Secret comes last, because it shows to which provider the binding led.
	if err := o.secret(ctx, consumer, output, left, provider != nil); err != nil {
		return err
	}
	if stays := left.stays(provider != nil); stays != "" {
		output.Warn("%s", stays)
	}
	return nil
}

// binding deletes the ClusterBinding, if the user agrees.
func (o *options) binding(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output, left *remains, provider *cli.Provider) error {
	if left.binding != nil {
		warn(ctx, consumer, output, left.binding)
	}
	if err := o.agreed(ctx, f.Asker(o.yes || o.DryRun), f.Where(consumer), consumer, left, provider); err != nil || left.binding == nil {
		return err
	}
	if o.DryRun {
		return Tell(ctx, consumer, output, left.name)
	}
	return Binding(ctx, consumer, output, left.name, "")
}

// agreed returns an error if the user does not agree. ask is nil without a terminal, or if the user has
// agreed before.
func (o *options) agreed(ctx context.Context, ask func(question string) bool, where string, consumer *cli.Cluster, left *remains, provider *cli.Provider) error {
	unproven, err := left.unproven(ctx, provider)
	switch {
	case err != nil:
		return err
	case ask == nil && unproven != "" && !o.yes && !o.DryRun:
		return fmt.Errorf("%s; --yes deletes it", unproven)
	case ask == nil:
		return nil
	}
	var parts []string
	if left.binding != nil && left.binding.DeletionTimestamp.IsZero() {
		loss, err := foreseen(ctx, consumer, left.binding)
		goes := summary(loss)
		if apierrors.IsForbidden(err) { // Users who may delete bindings need not see pods.
			goes, err = "What that deletes is not known: "+err.Error()+".", nil
		}
		if err != nil {
			return err
		}
		parts = append(parts, "Unbind "+left.name+" from "+where+"? "+goes)
	}
	if provider != nil {
		parts = append(parts, "The access of consumers to "+provider.Name+" ends.")
	}
	if unproven != "" {
		parts = append(parts, "But "+unproven+".")
	}
	if len(parts) > 0 && !ask(strings.Join(parts, " ")+" Type yes: ") {
		return fmt.Errorf("nothing was changed in %s: you did not type yes", where)
	}
	return nil
}
