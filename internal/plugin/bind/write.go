package bind

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/precondition"
)

// wouldTake checks the values of the flags. It fails if the consumer would refuse the ClusterBinding or the
// Secret, or if the manager would refuse the provider's address.
func (w *work) wouldTake(ctx context.Context) error {
	if _, err := w.writeBinding(ctx, w.wanted.binding(w.seen.there()), true); err != nil || w.plan.keep {
		return err
	}
	at, err := withAuthority(ctx, w.provider.Cluster, w.plan.at, metav1.NamespaceSystem)
	if err != nil {
		return err
	}
	document, err := document(at, "none")
	if err != nil {
		return err
	}
	return w.writeSecret(ctx, put(w.seen.Secret, w.secretName, w.secret, document), true)
}

// how returns the options for a create and for a patch. In a dry run, they change nothing.
func how(dry bool) ([]client.CreateOption, []client.PatchOption) {
	create, patch := []client.CreateOption{client.FieldOwner(cli.Owner)}, []client.PatchOption{client.FieldOwner(cli.Owner)}
	if dry {
		create, patch = append(create, client.DryRunAll), append(patch, client.DryRunAll)
	}
	return create, patch
}

// writeSecret creates a Secret, or changes it if nobody has changed it since it was read.
func (w *work) writeSecret(ctx context.Context, after *corev1.Secret, dry bool) error {
	create, patch := how(dry)
	var err error
	if before := w.seen.Secret; before == nil {
		err = w.consumer.Create(ctx, after, create...)
	} else {
		err = w.consumer.Patch(ctx, after, precondition.Locked(before), patch...)
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s/%s in the consumer: %w", after.Namespace, after.Name, err)
	}
	return nil
}

// writeBinding creates the ClusterBinding, or changes what the flags set, and returns what it did.
func (w *work) writeBinding(ctx context.Context, after *v1alpha1.ClusterBinding, dry bool) (action string, err error) {
	create, patch := how(dry)
	there := w.seen.there()
	switch {
	case there == nil:
		action, err = "created", w.consumer.Create(ctx, after, create...)
	case equality.Semantic.DeepEqual(there.Spec, after.Spec):
		return "unchanged", nil
	default:
		action, err = "configured", w.consumer.Patch(ctx, after, precondition.Locked(there), patch...)
	}
	if err != nil {
		return "", fmt.Errorf("writing ClusterBinding %s: %w", after.Name, err)
	}
	return action, nil
}

// bind writes the ClusterBinding.
func (w *work) bind(ctx context.Context) error {
	after := w.wanted.binding(w.seen.there())
	action, err := w.writeBinding(ctx, after, w.DryRun)
	if err != nil {
		return err
	}
	if action == "created" {
		w.made.binding = after.UID
	}
	w.output.Did(cli.Step{Cluster: "consumer", Object: "clusterbinding.offloading.spillway.io/" + after.Name, Action: action})
	return nil
}
