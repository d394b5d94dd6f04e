package syncer

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/seeded"
)

// effective is what to do, without what was done before and did not come into
// effect: the answer does not have it, though it was a yes. Doing it once more
// would end likewise, each time.
//
//   - What a provider takes back, by a mutating policy or webhook, is a refusal. It
//     is told, and tried again when a refusal would be.
//   - What the consumer does not keep of a status, most often because it lacks a
//     feature that the provider has, is left alone until one of the two pods changes.
//
// Made is what the rounds before this one have done.
func (c *kindController[T]) effective(s decide.Snapshot[T], made []decide.Attempt) decide.Plan {
	plan := c.afforded(&s)
	for _, a := range plan.Actions {
		switch {
		case !slices.ContainsFunc(made, func(before decide.Attempt) bool { return isRepeated(a, before) }):
		case a.Verb == decide.PatchStatus:
			c.memory.Unkept.Set(s.Key, decide.Attempt{Action: a, Answer: a.Before})
		case a.Side == decide.Remote && decide.Present(s.Local):
			c.refuse(s, a, problemOfTakenBack(a, c.clusterID))
			c.observeRefusals(&s)
			return c.due(s, c.afforded(&s))
		}
	}
	if unkept := c.memory.Unkept.Get(s.Key); unkept.Answer != nil {
		plan.Actions = slices.DeleteFunc(plan.Actions, func(a decide.Action) bool { return a.Verb == decide.PatchStatus && isRepeated(a, unkept) })
	}
	return c.due(s, plan)
}

// due is what of a plan may be done now.
func (c *kindController[T]) due(s decide.Snapshot[T], plan decide.Plan) decide.Plan {
	return paced(c.postponed(s, plan), c.memory.Statuses.Wait(s.Key))
}

// paced is a plan without what may wait, and has to. It is decided anew then, on
// what there is by then, so that the latest always gets there. All else goes on.
func paced(plan decide.Plan, wait time.Duration) decide.Plan {
	if wait == 0 || !slices.ContainsFunc(plan.Actions, isPaced) || seeded.On(seeded.StatusUnpaced) {
		return plan
	}
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), isPaced)
	plan.Event = nil // It tells of what has been written.
	plan.RetryAfter = retry.Sooner(plan.RetryAfter, wait)
	return plan
}

func isPaced(a decide.Action) bool { return a.Paced }

// isRepeated reports whether a patch asks for nothing but what was asked for before,
// of the very object that was the answer to that.
func isRepeated(a decide.Action, before decide.Attempt) bool {
	if a.Verb != decide.Patch && a.Verb != decide.PatchStatus || a.Verb != before.Verb || a.Side != before.Side ||
		a.Subresource != before.Subresource || a.Before.GetResourceVersion() != before.Answer.GetResourceVersion() {
		return false
	}
	change, err := changeOf(a)
	other, otherErr := changeOf(before.Action)
	return err == nil && otherErr == nil && isWithin(change, other)
}

// changeOf is what a patch changes. The metadata that goes with a status says when
// it was written, and is none of it.
func changeOf(a decide.Action) (map[string]any, error) {
	diff, err := client.MergeFrom(a.Before).Data(a.Object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(diff, &fields); err != nil {
		return nil, err
	}
	if a.Verb == decide.PatchStatus {
		delete(fields, "metadata")
	}
	return fields, nil
}

// isWithin reports whether all that a change sets, another one sets likewise.
func isWithin(change, other any) bool {
	fields, ok := change.(map[string]any)
	others, okToo := other.(map[string]any)
	if !ok || !okToo {
		return reflect.DeepEqual(change, other)
	}
	for name, value := range fields {
		if set, ok := others[name]; !ok || !isWithin(value, set) {
			return false
		}
	}
	return true
}

// problemOfTakenBack says what has not come into effect.
func problemOfTakenBack(a decide.Action, clusterID string) decide.Problem {
	return decide.Problemf(v1alpha1.ReasonUpdateRejected,
		"provider %s accepts a change of %s, but does not make it: a mutating policy or webhook there takes it back",
		clusterID, client.ObjectKeyFromObject(a.Object))
}
