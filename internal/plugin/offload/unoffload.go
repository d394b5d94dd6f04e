package offload

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
	"github.com/spillway-io/spillway/internal/precondition"
)

// UndoCommand returns the command unoffload.
func UndoCommand(f *cli.Factory) *cobra.Command {
	run := &cli.Run{Timeout: 5 * time.Minute}
	command := &cobra.Command{
		Use:   "unoffload NAMESPACE",
		Short: "Stop offloading a namespace",
		Long: `Deletes the NamespaceOffloading of a namespace, and the label that would recreate it, and waits until its pods
have left the virtual nodes and its remote namespaces are gone, with everything in them. Pods without a controller are lost.
Pods that wait for a virtual node are evicted, too, if their controller recreates them. It lists the others, which stay.
--dry-run lists the pods to evict, which of them are lost, and the remote namespaces.`,
		Example: `  kubectl spillway unoffload team-a

  # Show what would change
  kubectl spillway unoffload team-a --dry-run`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = run.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		return Undo(ctx, consumer, output, args[0], run.DryRun)
	})
	run.AddTo(command.Flags())
	return command
}

// Undo takes a namespace back, and waits until that is done. If the namespace is not offloaded, that is no
// error.
func Undo(ctx context.Context, consumer *cli.Cluster, output *cli.Output, namespace string, dryRun bool) error {
	if err := unlabel(ctx, consumer, output, namespace, dryRun); err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}
	there := &v1alpha1.NamespaceOffloading{}
	step := cli.Step{Cluster: "consumer", Object: object, Namespace: namespace, Action: "deleted"}
	err := consumer.Get(ctx, key, there)
	if absent(err) {
		output.Say("namespace %s is not offloaded", namespace)
		left(ctx, consumer, output, namespace, nil)
		return nil
	}
	pods := podsOf(ctx, consumer, output, namespace)
	evicted, steps := Evicted(pods, there), append([]cli.Step{step}, removed(there)...)
	unbind.WarnOfBudgets(ctx, consumer, output, evicted, client.InNamespace(namespace))
	if err == nil && dryRun {
		did(output, keeping(ctx, consumer, output, there, steps))
		tell(ctx, consumer, output, namespace, pods, evicted)
		return nil
	}
	if err == nil && there.DeletionTimestamp.IsZero() {
		err = client.IgnoreNotFound(consumer.Delete(ctx, there, precondition.Exactly(there)))
	}
	if err != nil {
		return fmt.Errorf("deleting the NamespaceOffloading of %s: %w", namespace, err)
	}
	uid := there.UID
	err = follow.Until(ctx, consumer, watched(namespace), func(ctx context.Context) (bool, error) {
		err := consumer.Get(ctx, key, there)
		if absent(err) || err == nil && there.UID != uid {
			return true, nil
		}
		if err != nil {
			return false, follow.Again(fmt.Errorf("reading the NamespaceOffloading of %s: %w", namespace, err))
		}
		output.Waiting(lines(there)...)
		return false, nil
	})
	if err != nil {
		return output.GaveUp(err, "the NamespaceOffloading of "+namespace+" is still being deleted; run this command again to wait")
	}
	did(output, steps)
	left(ctx, consumer, output, namespace, evicted)
	return nil
}

func did(output *cli.Output, steps []cli.Step) {
	for _, step := range steps {
		output.Did(step)
	}
}

// absent reports whether an object does not exist, or its kind does not.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// unlabel removes the label that creates an offloading.
func unlabel(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string, dryRun bool) error {
	namespace := &corev1.Namespace{}
	err := consumer.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if apierrors.IsForbidden(err) || err == nil && namespace.Labels[v1alpha1.LabelOffload] == "" {
		return nil
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no namespace %s", name)
	}
	if err == nil && !dryRun {
		before := namespace.DeepCopy()
		delete(namespace.Labels, v1alpha1.LabelOffload)
		err = consumer.Patch(ctx, namespace, precondition.Locked(before), client.FieldOwner(cli.Owner))
	}
	if err != nil {
		return fmt.Errorf("removing the label %s from namespace %s: %w", v1alpha1.LabelOffload, name, err)
	}
	output.Did(cli.Step{Cluster: "consumer", Object: "namespace/" + name, Action: "configured", Message: "without the label " + v1alpha1.LabelOffload})
	return nil
}
