package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
	"github.com/spillway-io/spillway/internal/precondition"
)

// cordon cordons the virtual nodes of a binding, or ends that.
func (d *drain) cordon(ctx context.Context, binding *v1alpha1.ClusterBinding, cordoned bool) error {
	for _, name := range unbind.NodesOf(binding) {
		node := &corev1.Node{}
		err := d.consumer.Get(ctx, client.ObjectKey{Name: name}, node)
		if apierrors.IsNotFound(err) {
			continue // A binding with groups of nodes has none of its own name.
		}
		if err != nil {
			return fmt.Errorf("reading Node %s: %w", name, err)
		}
		step := cli.Step{Cluster: "consumer", Object: "node/" + name, Action: "unchanged"}
		if change, why := changes(node, cordoned); !change {
			step.Message = why
			d.output.Did(step)
			continue
		}
		before := node.DeepCopy()
		node.Spec.Unschedulable = cordoned
		options := []client.PatchOption{client.FieldOwner(cli.Owner)}
		if d.dryRun {
			options = append(options, client.DryRunAll)
		}
		if err := d.consumer.Patch(ctx, node, precondition.Locked(before), options...); err != nil {
			return fmt.Errorf("changing spec.unschedulable of Node %s: %w", name, err)
		}
		step.Action = "uncordoned"
		if cordoned {
			step.Action = "cordoned"
		}
		d.output.Did(step)
	}
	return nil
}
