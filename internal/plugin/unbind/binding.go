package unbind

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/precondition"
)

// Binding deletes a ClusterBinding, and waits until it is gone. One that is not there is fine.
func Binding(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string) error {
	object := "clusterbinding.offloading.spillway.io/" + name
	binding := &v1alpha1.ClusterBinding{}
	err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && binding.DeletionTimestamp.IsZero() {
		err = client.IgnoreNotFound(consumer.Delete(ctx, binding, precondition.Exactly(binding)))
	}
	if err != nil {
		return fmt.Errorf("deleting ClusterBinding %s: %w", name, err)
	}
	uid, waits := binding.UID, ""
	watched := []follow.Watched{{List: &v1alpha1.ClusterBindingList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": name}}}}
	err = follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding)
		if apierrors.IsNotFound(err) || err == nil && binding.UID != uid {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading ClusterBinding %s: %w", name, err)
		}
		waits = Draining(binding)
		output.Waiting(object + ": " + waits)
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("ClusterBinding %s is not gone: %s: %w; it goes on being deleted, and the same command waits for it again", name, waits, err)
	}
	output.Did(cli.Step{Cluster: "consumer", Object: object, Action: "deleted"})
	return nil
}

// Draining says at which step the deletion of a binding is, and why it stays there.
func Draining(binding *v1alpha1.ClusterBinding) string {
	c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingDrained)
	if c == nil {
		return "the manager has not taken it up yet"
	}
	text := c.Reason
	if c.Message != "" {
		text += ": " + c.Message
	}
	if c.Reason == v1alpha1.ReasonProviderUnreachable {
		text += "; if that cluster is gone for good: kubectl patch clusterbinding " + binding.Name +
			` --type=merge -p '{"spec":{"deletionPolicy":"Orphan"}}'`
	}
	return text
}
