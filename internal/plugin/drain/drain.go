// Package drain is kubectl spillway drain and uncordon: it empties a provider for a while, and keeps its binding.
package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
)

// Command returns the command drain.
func Command(f *cli.Factory) *cobra.Command {
	run, yes := &cli.Run{Timeout: 10 * time.Minute}, false
	command := &cobra.Command{
		Use:   "drain NAME",
		Short: "Move all pods away from a provider, and keep its binding",
		Long: `Cordons the virtual nodes of a binding, so that no new pod gets there, and evicts their pods, so that their
controllers create new ones elsewhere. It waits until all have left. Evictions respect PodDisruptionBudgets: while one
refuses, drain waits. Pods of DaemonSets stay. Pods without a controller are lost. After --timeout the nodes stay cordoned;
the same command continues. It first names the namespaces whose pods can run only there: the pods that replace them stay Pending.
On a terminal it asks first if there are such pods, or pods that are lost. kubectl spillway uncordon NAME lets new pods run
there again; it moves none back.`,
		Example: `  kubectl spillway drain eu

  # Show what would leave, which pods are lost, and which cannot run elsewhere
  kubectl spillway drain eu --dry-run`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = run.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		d := &drain{consumer: consumer, output: output, dryRun: run.DryRun, told: map[string]bool{}}
		return d.run(ctx, args[0], f.Asker(yes || run.DryRun), f.Where(consumer))
	})
	run.AddTo(command.Flags())
	cli.AddYes(command.Flags(), &yes)
	return command
}

// UndoCommand returns the command uncordon.
func UndoCommand(f *cli.Factory) *cobra.Command {
	run := &cli.Run{Timeout: time.Minute}
	command := &cobra.Command{
		Use:   "uncordon NAME",
		Short: "Let new pods run in a drained provider again",
		Long: `Ends what kubectl spillway drain has begun: the virtual nodes of a binding take new pods again. Pods that run
elsewhere stay there. It leaves nodes alone that the manager itself has cordoned.`,
		Example: `  kubectl spillway uncordon eu`,
		Args:    cobra.ExactArgs(1),
	}
	command.RunE = run.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		d := &drain{consumer: consumer, output: output, dryRun: run.DryRun, told: map[string]bool{}}
		binding, err := d.read(ctx, args[0], false)
		if err != nil {
			return err
		}
		if err := d.mark(ctx, binding, false); err != nil {
			return err
		}
		return d.cordon(ctx, binding, false)
	})
	run.AddTo(command.Flags())
	return command
}

// drain is one run.
type drain struct {
	consumer *cli.Cluster
	output   *cli.Output
	dryRun   bool
	// refused has the API server's answer to each eviction that it has refused.
	refused map[types.NamespacedName]string
	// told has the nodes that were spoken of.
	told map[string]bool
}

func (d *drain) run(ctx context.Context, name string, ask func(string) bool, where string) error {
	binding, err := d.read(ctx, name, true, rightsToEvict...)
	if err != nil {
		return err
	}
	before, err := d.leaving(ctx, binding)
	if err != nil {
		return err
	}
	tied := unbind.Tied(ctx, d.consumer, d.output, binding, before)
	if tied != "" && ask == nil { // If it asks, the question says it.
		d.output.Warn("%s", tied)
	}
	if why := losses(before, tied); why != "" && ask != nil && !ask("Drain "+name+" in "+where+"? "+why+" Type yes: ") {
		return fmt.Errorf("nothing was changed in %s: you did not type yes", where)
	}
	if err := d.mark(ctx, binding, true); err != nil {
		return err
	}
	if err := d.cordon(ctx, binding, true); err != nil {
		return err
	}
	unbind.WarnOfBudgets(ctx, d.consumer, d.output, before)
	if !d.dryRun {
		if err := d.empty(ctx, binding); err != nil {
			return err
		}
	}
	for i := range before {
		d.output.Did(unbind.Eviction(&before[i]))
	}
	unbind.WarnOfWaiting(ctx, d.consumer, d.output, binding, "kubectl spillway uncordon "+name+" lets them start")
	if !d.dryRun {
		d.output.Say("To let new pods run there again: kubectl spillway uncordon %s", name)
	}
	return nil
}

var (
	rightsToCordon = []cli.Right{{Verb: "get", Resource: "nodes"}, {Verb: "patch", Resource: "nodes"}}
	rightToMark    = cli.Right{Verb: "patch", Group: v1alpha1.GroupVersion.Group, Resource: "clusterbindings"}
	// A watch that is refused would be tried again and again.
	rightsToEvict = []cli.Right{
		{Verb: "list", Resource: "pods"}, {Verb: "watch", Resource: "pods"}, {Verb: "create", Resource: "pods", Subresource: "eviction"},
		{Verb: "watch", Group: v1alpha1.GroupVersion.Group, Resource: "clusterbindings"},
	}
)

// read reads the binding, which becomes drained, or is no longer.
func (d *drain) read(ctx context.Context, name string, drained bool, rights ...cli.Right) (*v1alpha1.ClusterBinding, error) {
	binding, err := d.consumer.Binding(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := d.consumer.Require(ctx, needed(binding, drained, rights)); err != nil {
		return nil, err
	}
	if !binding.DeletionTimestamp.IsZero() {
		return nil, fmt.Errorf("ClusterBinding %s is being deleted, which drains it for good: kubectl spillway unbind %s", name, name)
	}
	return binding, nil
}

// leaving returns the pods on the virtual nodes that drain evicts.
func (d *drain) leaving(ctx context.Context, binding *v1alpha1.ClusterBinding) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := unbind.OnNodes(ctx, d.consumer, binding, pods); err != nil {
		return nil, fmt.Errorf("reading the pods on the nodes of %s: %w", binding.Name, err)
	}
	return leaving(pods.Items), nil
}

// empty evicts pods until none is left. An eviction that a budget refuses is tried again when a budget or a pod
// changes.
func (d *drain) empty(ctx context.Context, binding *v1alpha1.ClusterBinding) error {
	watched := []follow.Watched{
		{List: &policyv1.PodDisruptionBudgetList{}}, {List: &v1alpha1.ClusterBindingList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": binding.Name}}},
	}
	for _, node := range unbind.NodesOf(binding) {
		watched = append(watched, follow.Watched{List: &corev1.PodList{}, Options: []client.ListOption{client.MatchingFields{"spec.nodeName": node}}})
	}
	known := len(unbind.NodesOf(binding))
	err := follow.Until(ctx, d.consumer, watched, func(ctx context.Context) (bool, error) {
		if err := d.later(ctx, binding); errors.Is(err, errUncordoned) {
			return false, err
		} else if err != nil {
			return false, follow.Again(err)
		}
		pods, err := d.leaving(ctx, binding)
		if err != nil || len(pods) == 0 {
			return err == nil, follow.Again(err)
		}
		d.refused = map[types.NamespacedName]string{}
		for i := range pods {
			if err := d.evict(ctx, &pods[i]); err != nil {
				return false, follow.Again(err)
			}
		}
		waits := left(pods, d.refused)
		d.output.Waiting(waits)
		if unwatched(d.refused) || len(unbind.NodesOf(binding)) != known { // The pods of a later node are not watched.
			return false, follow.Again(errors.New(waits))
		}
		return false, nil
	})
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errUncordoned) {
		err = d.output.GaveUp(err, "pods are still in "+binding.Name+", whose nodes stay cordoned; run this command again to wait, or kubectl spillway uncordon "+binding.Name)
	}
	return err
}

// errUncordoned ends a drain that somebody else has ended.
var errUncordoned = errors.New("somebody has run kubectl spillway uncordon: no more pods are evicted")

// later cordons the virtual nodes that have appeared since. The manager may have created one before it saw the mark.
func (d *drain) later(ctx context.Context, binding *v1alpha1.ClusterBinding) error {
	if err := d.consumer.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
		return fmt.Errorf("reading ClusterBinding %s: %w", binding.Name, err)
	}
	if !marked(binding) {
		return errUncordoned
	}
	return d.cordon(ctx, binding, true)
}

// evict evicts a pod that is not on its way. Whatever the API server answers is about this pod only: the others still
// have to leave.
func (d *drain) evict(ctx context.Context, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	err := d.consumer.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}},
	})
	var answer apierrors.APIStatus
	switch {
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err): // It is gone, or another one has its name.
	case errors.As(err, &answer):
		d.refused[client.ObjectKeyFromObject(pod)] = err.Error()
	default:
		return fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
