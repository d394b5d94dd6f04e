// Package offload is kubectl spillway offload and unoffload: it offloads a namespace, and takes it back.
package offload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/precondition"
)

type options struct {
	cli.Run
	wanted Wanted
}

// Command returns the command offload.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{Run: cli.Run{Timeout: 2 * time.Minute}}
	command := &cobra.Command{
		Use:   "offload NAMESPACE",
		Short: "Let pods of a namespace run in providers",
		Long: `Creates the NamespaceOffloading of a namespace, and waits until its remote namespaces exist. If there is one
already, only the fields of the given flags change. New pods of the namespace may then run in the providers; running pods stay
where they are.`,
		Example: `  # In all providers, and here
  kubectl spillway offload team-a

  # Only in providers of a region, and not here
  kubectl spillway offload team-a --selector topology.kubernetes.io/region=eu --strategy Remote

  # Preferably here, otherwise in these two; for a strict order: docs/spill.md
  kubectl spillway offload team-a --clusters eu,us --strategy LocalFirst`,
		Args: cobra.ExactArgs(1),
	}
	flags := command.Flags()
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		o.wanted.Namespace = args[0]
		if !flags.Changed("resources") {
			o.wanted.Resources = nil
		}
		return o.run(ctx, consumer, output)
	})
	o.AddTo(flags)
	flags.StringVar(&o.wanted.Strategy, "strategy", "", "where new pods may run: LocalAndRemote, Remote, LocalFirst or Local (default LocalAndRemote)")
	flags.StringSliceVar(&o.wanted.Clusters, "clusters", nil, "clusterIDs of the providers (default: all)")
	flags.StringVar(&o.wanted.Selector, "selector", "", "labels that the virtual nodes of the providers must have, such as topology.kubernetes.io/region=eu")
	flags.StringVar(&o.wanted.Mapping, "mapping", "", "names of the remote namespaces: DefaultName, EnforceSameName or SelectedName (default DefaultName); it cannot be changed later")
	flags.StringVar(&o.wanted.RemoteName, "remote-namespace", "", "name of the remote namespace; implies --mapping SelectedName")
	flags.StringSliceVar(&o.wanted.Resources, "resources", nil, "what is sent besides pods and what they need: Services, NetworkPolicies, PodDisruptionBudgets (default the first two)")
	for flag, values := range map[string][]string{
		"strategy":  {string(v1alpha1.PodsLocalAndRemote), string(v1alpha1.PodsRemote), string(v1alpha1.PodsLocalFirst), string(v1alpha1.PodsLocal)},
		"mapping":   {string(v1alpha1.MappingDefaultName), string(v1alpha1.MappingEnforceSameName), string(v1alpha1.MappingSelectedName)},
		"resources": {string(v1alpha1.OffloadedServices), string(v1alpha1.OffloadedNetworkPolicies), string(v1alpha1.OffloadedPodDisruptionBudgets)},
	} {
		_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // The flags exist.
	}
	return command
}

func (o *options) run(ctx context.Context, consumer *cli.Cluster, output *cli.Output) error {
	if err := o.check(ctx, consumer); err != nil {
		return err
	}
	offloading, err := o.write(ctx, consumer, output)
	if err != nil {
		return err
	}
	if err := o.known(ctx, consumer, output); err != nil {
		return err
	}
	if !o.DryRun {
		if err := o.await(ctx, consumer, output, offloading); err != nil {
			return err
		}
	}
	traffic(ctx, consumer, output, offloading)
	if !o.DryRun {
		next(ctx, consumer, output, offloading)
	}
	return nil
}

func (o *options) check(ctx context.Context, consumer *cli.Cluster) error {
	if err := namespacemap.CheckLocal(o.wanted.Namespace, config.Namespace); err != nil {
		return err
	}
	served, err := consumer.Serves(v1alpha1.GroupVersion.WithKind("NamespaceOffloading"))
	if err != nil {
		return err
	}
	if !served {
		return fmt.Errorf("Spillway is not installed in %s: run kubectl spillway install", consumer.Name)
	}
	var rights []cli.Right
	for _, verb := range []string{"get", "watch", "create", "patch"} {
		rights = append(rights, cli.Right{Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: "namespaceoffloadings", Namespace: o.wanted.Namespace})
	}
	if err := consumer.Require(ctx, rights); err != nil {
		return err
	}
	err = consumer.Get(ctx, client.ObjectKey{Name: o.wanted.Namespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no namespace %s: kubectl create namespace %s", o.wanted.Namespace, o.wanted.Namespace)
	}
	if apierrors.IsForbidden(err) {
		return nil // Teams may use a namespace that they may not read.
	}
	return err
}

// write returns the offloading as it was written, or would be.
func (o *options) write(ctx context.Context, consumer *cli.Cluster, output *cli.Output) (*v1alpha1.NamespaceOffloading, error) {
	there := &v1alpha1.NamespaceOffloading{}
	err := consumer.Get(ctx, client.ObjectKey{Namespace: o.wanted.Namespace, Name: v1alpha1.OffloadingName}, there)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the NamespaceOffloading of %s: %w", o.wanted.Namespace, err)
	}
	if err != nil {
		there = nil
	}
	after, err := o.wanted.offloading(there)
	if err != nil {
		return nil, err
	}
	step := cli.Step{Cluster: "consumer", Object: object, Namespace: o.wanted.Namespace}
	switch {
	case there != nil && !there.DeletionTimestamp.IsZero():
		return nil, fmt.Errorf("the NamespaceOffloading of %s is being deleted: wait for it with kubectl spillway unoffload %s, and offload it again", after.Namespace, after.Namespace)
	case there == nil:
		step.Action = "created"
		options := []client.CreateOption{client.FieldOwner(cli.Owner)}
		if o.DryRun {
			options = append(options, client.DryRunAll)
		}
		err = consumer.Create(ctx, after, options...)
	case equality.Semantic.DeepEqual(there.Spec, after.Spec):
		step.Action = "unchanged"
	default:
		step.Action = "configured"
		options := []client.PatchOption{client.FieldOwner(cli.Owner)}
		if o.DryRun {
			options = append(options, client.DryRunAll)
		}
		err = consumer.Patch(ctx, after, precondition.Locked(there), options...)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the NamespaceOffloading of %s: %w", o.wanted.Namespace, err)
	}
	output.Did(step)
	return after, nil
}

// known warns about clusterIDs that no binding has. They may be misspelt, or bound later.
func (o *options) known(ctx context.Context, consumer *cli.Cluster, output *cli.Output) error {
	if len(o.wanted.Clusters) == 0 {
		return nil
	}
	bindings := &v1alpha1.ClusterBindingList{}
	err := consumer.List(ctx, bindings)
	if apierrors.IsForbidden(err) {
		return nil // Teams need not see them.
	}
	if err != nil {
		return fmt.Errorf("reading the ClusterBindings: %w", err)
	}
	for _, id := range unbound(o.wanted.Clusters, bindings.Items) {
		output.Warn("no ClusterBinding has the clusterID %s: the namespace is offloaded there once one has it", id)
	}
	return nil
}

const object = "namespaceoffloading.offloading.spillway.io/" + v1alpha1.OffloadingName

// await waits until the remote namespaces exist, and reads the offloading again.
func (o *options) await(ctx context.Context, consumer *cli.Cluster, output *cli.Output, offloading *v1alpha1.NamespaceOffloading) error {
	err := follow.Until(ctx, consumer, watched(o.wanted.Namespace), func(ctx context.Context) (bool, error) {
		if err := consumer.Get(ctx, client.ObjectKeyFromObject(offloading), offloading); err != nil {
			return false, fmt.Errorf("reading the NamespaceOffloading of %s: %w", o.wanted.Namespace, err)
		}
		state := status.StateOf(offloading)
		if state.Ready {
			return true, nil
		}
		if state.Stuck {
			return false, fmt.Errorf("namespace %s is not offloaded: %s; the NamespaceOffloading stays, and takes effect once that changes", o.wanted.Namespace, state)
		}
		output.Waiting(lines(offloading)...)
		return false, nil
	})
	if errors.Is(err, cli.ErrTime) {
		return output.GaveUp(err, "namespace "+o.wanted.Namespace+" is not offloaded yet; run this command again to wait")
	}
	if err != nil {
		return err
	}
	for _, step := range ready(offloading) {
		output.Did(step)
	}
	return nil
}

// lines says what an offloading waits for, each line with the namespace.
func lines(offloading *v1alpha1.NamespaceOffloading) []string {
	all := status.StateOf(offloading).Lines()
	for i := range all {
		all[i] = offloading.Namespace + ": " + all[i]
	}
	return all
}

// ready returns a step for each remote namespace that is ready. The status also lists those that are going to
// be deleted.
func ready(offloading *v1alpha1.NamespaceOffloading) []cli.Step {
	var steps []cli.Step
	for _, remote := range status.StateOf(offloading).Remotes {
		if remote.Ready {
			steps = append(steps, cli.Step{
				Cluster: "consumer", Object: object, Namespace: offloading.Namespace, Action: "ready", Message: "it is namespace " + remote.Namespace + " in " + remote.Cluster,
			})
		}
	}
	return steps
}

// watched returns what to watch for a namespace: its offloading.
func watched(namespace string) []follow.Watched {
	return []follow.Watched{{List: &v1alpha1.NamespaceOffloadingList{}, Options: []client.ListOption{client.InNamespace(namespace)}}}
}
