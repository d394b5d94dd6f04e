package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// isRepeated reports whether a patch of the previous answer only makes changes that the previous patch made,
// too.
func isRepeated(a decide.Action, before decide.AppliedAction) bool {
	if a.Verb != decide.Patch && a.Verb != decide.PatchStatus || a.Verb != before.Verb || a.Side != before.Side ||
		a.Subresource != before.Subresource || a.Before.GetResourceVersion() != before.Response.GetResourceVersion() {
		return false
	}
	change, err := changeOf(a)
	other, otherErr := changeOf(before.Action)
	return err == nil && otherErr == nil && isWithin(change, other)
}

// changeOf returns the fields that a patch changes. It leaves out the metadata of a status patch, which
// contains the time of the write.
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

// isWithin reports whether another change sets all fields of a change to the same values.
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

// problemOfDropped is the problem of a change that an API server accepted but did not make.
func problemOfDropped(a decide.Action, clusterID string) field.Problem {
	return field.Problemf(v1alpha1.ReasonUpdateRejected,
		"provider %s accepts a change of %s, but does not keep it: a mutating policy or webhook there reverts it",
		clusterID, client.ObjectKeyFromObject(a.Object))
}

// problemOfReverted is the problem of a change that somebody reverts each time.
func problemOfReverted(a decide.Action, clusterID string) field.Problem {
	where := "the consumer"
	if a.Side == decide.Remote {
		where = "provider " + clusterID
	}
	name := client.ObjectKeyFromObject(a.Object)
	if a.Verb == decide.Create {
		return field.Problemf(v1alpha1.ReasonChangeUndone, "%s in %s is deleted each time Spillway creates it; Spillway retries at growing intervals", name, where)
	}
	what := "labels of Spillway on"
	if change, err := changeOf(a); err == nil && a.Verb != decide.Find {
		what = strings.Join(paths("", change), ", ") + " of"
	}
	return field.Problemf(v1alpha1.ReasonChangeUndone, "each change of %s %s in %s is reverted; Spillway retries at growing intervals", what, name, where)
}

// paths lists the fields that a change sets, such as metadata.labels, in order. It leaves out the keys of maps
// and of content.
func paths(in string, change map[string]any) []string {
	var all []string
	for name, value := range change {
		if fields, ok := value.(map[string]any); ok && in == "" && (name == "metadata" || name == "spec") {
			all = append(all, paths(name+".", fields)...)
		} else {
			all = append(all, in+name)
		}
	}
	slices.Sort(all)
	return all
}
