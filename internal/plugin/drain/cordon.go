package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
	"github.com/spillway-io/spillway/internal/precondition"
)

// mark notes on the binding that it is drained, or removes that. The manager creates virtual nodes cordoned meanwhile: those
// of groups come and go.
func (d *drain) mark(ctx context.Context, binding *v1alpha1.ClusterBinding, drained bool) error {
	// Somebody may have taken minutes to type yes.
	if err := d.consumer.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
		return fmt.Errorf("reading ClusterBinding %s: %w", binding.Name, err)
	}
	if marked(binding) == drained {
		return nil
	}
	before, message := binding.DeepCopy(), "new virtual nodes take pods"
	delete(binding.Annotations, v1alpha1.AnnotationDrained)
	if drained {
		metav1.SetMetaDataAnnotation(&binding.ObjectMeta, v1alpha1.AnnotationDrained, v1alpha1.DrainedTrue)
		message = "new virtual nodes are cordoned"
	}
	if err := d.consumer.Patch(ctx, binding, precondition.Locked(before), d.how()...); err != nil {
		return fmt.Errorf("changing annotation %s of ClusterBinding %s: %w", v1alpha1.AnnotationDrained, binding.Name, err)
	}
	d.output.Did(cli.Step{Cluster: "consumer", Object: "clusterbinding.offloading.spillway.io/" + binding.Name, Action: "configured", Message: message})
	return nil
}

// how returns the options of a patch. In a dry run, it changes nothing.
func (d *drain) how() []client.PatchOption {
	options := []client.PatchOption{client.FieldOwner(cli.Owner)}
	if d.dryRun {
		options = append(options, client.DryRunAll)
	}
	return options
}

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
			if step.Message = why; !d.told[name] {
				d.output.Did(step)
			}
			d.told[name] = true
			continue
		}
		before := node.DeepCopy()
		node.Spec.Unschedulable = cordoned
		if err := d.consumer.Patch(ctx, node, precondition.Locked(before), d.how()...); err != nil {
			return fmt.Errorf("changing spec.unschedulable of Node %s: %w", name, err)
		}
		step.Action = "uncordoned"
		if cordoned {
			step.Action = "cordoned"
		}
		d.output.Did(step)
		d.told[name] = true
	}
	return nil
}
