package unbind

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/precondition"
)

// Hosted returns an error for a binding of the operator of hosted clusters, which would recreate it.
func Hosted(binding *v1alpha1.ClusterBinding) error {
	if binding.Labels[hosted.LabelHostedCluster] == "" {
		return nil
	}
	return fmt.Errorf("ClusterBinding %[1]s belongs to the operator of hosted clusters: remove spec.binding of HostedCluster %[1]s first; "+
		"if that operator is gone, remove the label: kubectl label clusterbinding %[1]s %[2]s-", binding.Name, hosted.LabelHostedCluster)
}

// Binding deletes a ClusterBinding, and waits until it is gone. It is no error if the binding does not exist,
// or if it has another UID than only, unless only is empty.
func Binding(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string, only types.UID) error {
	object := "clusterbinding.offloading.spillway.io/" + name
	binding := &v1alpha1.ClusterBinding{}
	err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding)
	if apierrors.IsNotFound(err) || err == nil && only != "" && binding.UID != only {
		return nil
	}
	if err == nil && binding.DeletionTimestamp.IsZero() {
		err = client.IgnoreNotFound(consumer.Delete(ctx, binding, precondition.Exactly(binding)))
	}
	if err != nil {
		return fmt.Errorf("deleting ClusterBinding %s: %w", name, err)
	}
	uid := binding.UID
	watched := []follow.Watched{{List: &v1alpha1.ClusterBindingList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": name}}}}
	err = follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding)
		if apierrors.IsNotFound(err) || err == nil && binding.UID != uid {
			return true, nil
		}
		if err != nil {
			return false, follow.Again(fmt.Errorf("reading ClusterBinding %s: %w", name, err))
		}
		output.Waiting(object + ": " + Draining(binding))
		return false, nil
	})
	if err != nil {
		return output.GaveUp(err, "ClusterBinding "+name+" is still being deleted; run this command again to wait")
	}
	output.Did(cli.Step{Cluster: "consumer", Object: object, Action: "deleted"})
	return nil
}

// Draining says at which step the deletion of a binding is, and why it stays there.
func Draining(binding *v1alpha1.ClusterBinding) string {
	c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingDrained)
	if c == nil {
		return "the manager has not seen it yet"
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
