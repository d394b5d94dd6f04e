package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
)

// decision is a decision that is written, and then awaited.
type decision struct {
	consumer *cli.Cluster
	output   *cli.Output
	*preview.Resolution
	take merge.Side
}

// write writes the specs. The spec that comes last is awaited until it has done its work.
func (d decision) write(ctx context.Context, h *v1alpha1.HostedCluster) error {
	step := cli.Step{Cluster: "consumer", Object: "hostedcluster.hosted.spillway.io/" + h.Name, Action: "configured"}
	for i, spec := range d.Specs {
		last := i == len(d.Specs)-1
		step.Message = "it has the decision"
		if !last {
			step.Message = d.Field.Path + " changes for a moment, so that its value counts as newly set"
		}
		var err error
		if h, err = d.put(ctx, h, spec); err != nil {
			return d.halfway(i, err)
		}
		d.output.Did(step)
		seen := func(*v1alpha1.HostedCluster) (bool, error) { return true, nil }
		if last {
			seen = d.done
		}
		if h, err = d.await(ctx, h, seen); err != nil {
			return d.halfway(i+1, err)
		}
	}
	d.output.Say("%s: %s's value holds. Lost is %s", d.Field.Path, map[merge.Side]string{merge.Spec: "the spec", merge.Upstream: "the cloud"}[d.take], d.lost(h))
	return nil
}

// put writes a spec, unless somebody has changed the spec since it was read.
func (d decision) put(ctx context.Context, h *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) (*v1alpha1.HostedCluster, error) {
	for {
		after := h.DeepCopy()
		after.Spec = spec
		err := d.consumer.Patch(ctx, after, client.MergeFromWithOptions(h, client.MergeFromWithOptimisticLock{}), client.FieldOwner(cli.Owner))
		if err == nil {
			return after, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("writing HostedCluster %s: %w", h.Name, err)
		}
		now := &v1alpha1.HostedCluster{}
		if err := d.consumer.Get(ctx, client.ObjectKeyFromObject(h), now); err != nil {
			return nil, fmt.Errorf("reading HostedCluster %s: %w", h.Name, err)
		}
		if now.Generation != h.Generation || now.UID != h.UID {
			return nil, fmt.Errorf("somebody has changed the spec of HostedCluster %s meanwhile; run the command again", h.Name)
		}
		h = now // Only the operator has written its status.
	}
}

// halfway adds to an error that the field is unset.
func (d decision) halfway(written int, err error) error {
	if len(d.Specs) == 2 && written == 1 {
		return fmt.Errorf("%w\nThe spec does not have %s as it was. Set it to %s again, so that it is sent", err, d.Field.Path, short(d.Field.Spec))
	}
	return err
}

// await waits until the operator has processed the spec, and more.
func (d decision) await(ctx context.Context, of *v1alpha1.HostedCluster, more func(*v1alpha1.HostedCluster) (bool, error)) (*v1alpha1.HostedCluster, error) {
	h, waits := of, ""
	watched := []follow.Watched{{List: &v1alpha1.HostedClusterList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": of.Name}}}}
	err := follow.Until(ctx, d.consumer, watched, func(ctx context.Context) (bool, error) {
		now := &v1alpha1.HostedCluster{}
		if err := d.consumer.Get(ctx, client.ObjectKeyFromObject(of), now); err != nil {
			return false, follow.Again(fmt.Errorf("reading HostedCluster %s: %w", of.Name, err))
		}
		h = now
		h = now
		if now.Status.ObservedGeneration < of.Generation {
			waits = "the operator has not processed the spec yet" + busy(now)
			d.output.Waiting(waits)
			return false, nil
		}
		done, err := more(now)
		if !done && err == nil {
			waits = d.Field.Path + " is " + stateOf(now, d.Field.Path) + busy(now)
			d.output.Waiting(waits)
		}
		return done, err
	})
	if errors.Is(err, cli.ErrTime) {
		err = cli.GaveUp(err, "the operator continues", waits)
	}
	return h, err
}

// done reports whether the decision has done its work. It fails if the cloud refuses the request.
func (d decision) done(h *v1alpha1.HostedCluster) (bool, error) {
	for _, op := range h.Status.Operations {
		sends := slices.ContainsFunc(op.Sent, func(sent v1alpha1.SentField) bool { return sent.Path == d.Field.Path })
		if sends && op.Message != "" && op.Reason != v1alpha1.ReasonBusy {
			return false, fmt.Errorf("the decision is made, but the cloud refuses the request, which the operator repeats: %s", op.Message)
		}
	}
	state := stateOf(h, d.Field.Path)
	if d.take == merge.Upstream {
		return state != string(merge.Conflict), nil
	}
	return state == string(merge.Agreed) || state == "", nil
}

// lost returns the value that was lost: the one that the operator has noted, if it says more than the plan.
func (d decision) lost(h *v1alpha1.HostedCluster) string {
	planned := short(json.RawMessage(d.Lost))
	if d.Field.Item || strings.HasPrefix(planned, "(not shown") {
		return planned
	}
	for _, one := range slices.Backward(h.Status.Decisions) {
		if one.Path == d.Field.Path && string(one.Take) == string(d.take) {
			return short(json.RawMessage(one.Lost))
		}
	}
	return planned
}

func stateOf(h *v1alpha1.HostedCluster, path string) string {
	for _, field := range h.Status.Managed {
		if field.Path == path {
			return field.State
		}
	}
	return ""
}

// busy says what the operator is doing.
func busy(h *v1alpha1.HostedCluster) string {
	var parts []string
	for _, c := range h.Status.Conditions {
		bad := c.Type == v1alpha1.HostedUpdating && c.Status == "True" || c.Type == v1alpha1.HostedSynced && c.Status == "False"
		if bad {
			parts = append(parts, "; "+c.Reason+": "+c.Message)
		}
	}
	return strings.Join(parts, "")
}
