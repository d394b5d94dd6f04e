package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
	// noted are the decisions that the status had before.
	noted []v1alpha1.Decision
}

// write writes the specs. The spec that comes last is awaited until it has done its work. If the first one of two is
// not followed by the second one, the spec is written back as it was.
func (d decision) write(ctx context.Context, h *v1alpha1.HostedCluster) error {
	if why := unsettled(h); len(d.Specs) > 1 && why != "" {
		return fmt.Errorf("the spec is not changed, because it must be unset for a moment, and %s. Run the command again later", why)
	}
	step := cli.Step{Cluster: "consumer", Object: "hostedcluster.hosted.spillway.io/" + h.Name, Action: "configured"}
	first := h.Spec
	for i, spec := range d.Specs {
		last := i == len(d.Specs)-1
		step.Message = "it has the decision"
		if !last {
			step.Message = d.Field.Path + " changes for a moment, so that its value counts as newly set"
		}
		written, err := d.put(ctx, h, spec)
		if err == nil {
			d.output.Did(step)
			seen := func(*v1alpha1.HostedCluster) (bool, error) { return true, nil }
			if last {
				seen = d.done
			}
			h, err = d.await(ctx, written, seen)
		}
		switch {
		case err == nil:
		case i == 0 && !last && written != nil, i > 0 && written == nil:
			return errors.Join(err, d.back(ctx, h, first))
		default:
			return err
		}
	}
	d.output.Say("%s: %s's value holds. Lost is %s", d.Field.Path, map[merge.Side]string{merge.Spec: "the spec", merge.Upstream: "the cloud"}[d.take], d.lost(h))
	return nil
}

// unsettled says why the operator may not see a spec soon; empty if it will.
func unsettled(h *v1alpha1.HostedCluster) string {
	switch {
	case h.Status.ObservedGeneration != h.Generation:
		return "the operator has not processed the present spec yet"
	case meta.IsStatusConditionTrue(h.Status.Conditions, v1alpha1.HostedUpdating), meta.IsStatusConditionFalse(h.Status.Conditions, v1alpha1.HostedSynced):
		return "the operator waits for something else" + busy(h)
	default:
		return ""
	}
}

// back writes the spec as it was before the first write, unless somebody has changed it since. h is the object with
// the first write.
func (d decision) back(ctx context.Context, h *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, err := d.put(ctx, h, spec); err != nil {
		return fmt.Errorf("the spec does not have %s as it was: set it to %s again, so that it is sent (%w)", d.Field.Path, d.Field.Spec, err)
	}
	return errors.New("the spec is as it was before")
}

// put writes a spec, unless somebody has changed the spec since it was read. It writes the whole object: in a merge
// patch, null would remove a key, and in the spec, it asks for the key to be removed in the cloud.
func (d decision) put(ctx context.Context, h *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) (*v1alpha1.HostedCluster, error) {
	for {
		after := h.DeepCopy()
		after.Spec = *spec.DeepCopy()
		err := d.consumer.Update(ctx, after, client.FieldOwner(cli.Owner))
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

// done reports whether the decision has done its work. It fails if the cloud refuses the request, or if there is
// another conflict by now.
func (d decision) done(h *v1alpha1.HostedCluster) (bool, error) {
	for _, op := range h.Status.Operations {
		sends := slices.ContainsFunc(op.Sent, func(sent v1alpha1.SentField) bool { return sent.Path == d.Field.Path })
		if sends && op.Message != "" && op.Reason != v1alpha1.ReasonBusy {
			return false, fmt.Errorf("the decision is made, but the cloud refuses the request, which the operator repeats: %s", op.Message)
		}
	}
	for _, c := range h.Status.Conflicts {
		if c.Path == d.Field.Path && c.UpstreamHash != d.Hash {
			return false, fmt.Errorf("the conflict of %s is another one by now, and is not decided: the cloud has changed again. Look at the values again", c.Path)
		}
	}
	state := stateOf(h, d.Field.Path)
	if d.take == merge.Upstream {
		return state != string(merge.Conflict), nil
	}
	// An item that the spec does not have is no field any more once the cloud has deleted it.
	return state == string(merge.Agreed) || state == "" && d.Gone, nil
}

// lost returns the value that was lost: the one that the operator has noted since, or else the one that was shown.
func (d decision) lost(h *v1alpha1.HostedCluster) string {
	for _, one := range slices.Backward(h.Status.Decisions) {
		old := slices.ContainsFunc(d.noted, func(before v1alpha1.Decision) bool { return equality.Semantic.DeepEqual(before, one) })
		if one.Path == d.Field.Path && string(one.Take) == string(d.take) && !old && !d.Field.Item && !d.Secret {
			return short(json.RawMessage(one.Lost))
		}
	}
	return short(json.RawMessage(d.Lost))
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
