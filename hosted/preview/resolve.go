package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
)

// maxResolutions is how many resolutions the spec may have.
const maxResolutions = 64

// Resolution is how to let one side's value of a field hold.
type Resolution struct {
	Field Field
	// Hash is the hash of the conflict; empty if there is none.
	Hash string
	// Specs are the specs to write, one after the other. Before the second one, the operator must have seen the
	// first one.
	Specs []v1alpha1.HostedClusterSpec
	// Lost is the value that is lost, as it may be shown. Secret says that it must not be shown otherwise.
	Lost   merge.Text
	Secret bool
	// Gone says that the field is an item that the cloud is to delete. Then nobody has it any more.
	Gone bool
	// Patchable says that a merge patch changes nothing but this field, or adds the resolution.
	Patchable bool
}

// Resolve lets one side's value of a field hold. If the spec's value of a conflict shall hold, a resolution with the hash of
// the conflict decides. If the cloud's shall hold, the spec takes it over: a resolution would only make the field
// Superseded. A secret is not in the status, so for it, there is a resolution in both cases. If the spec's value shall hold and
// there is no conflict, the spec unsets the field, and then sets it again, which sends it like any newly set field.
func Resolve(h *v1alpha1.HostedCluster, plan *Plan, path string, take merge.Side) (*Resolution, error) {
	i := slices.IndexFunc(plan.Fields, func(f Field) bool { return f.Path == path })
	if i < 0 {
		return nil, unknown(h, plan, path)
	}
	row := merge.RowOf(tables.Of(h.Spec.ClusterConfig), path)
	r := &Resolution{Field: plan.Fields[i], Secret: row != nil && row.Secret}
	r.Gone = take == merge.Spec && r.Field.Item && string(r.Field.Spec) == string(exists(merge.Null))
	r.Patchable = take == merge.Upstream && row != nil && !strings.Contains(row.Path, "[]") && row.Shape != merge.Keyed && string(r.Field.Cloud) != string(null)
	r.Lost = merge.Text(r.Field.Cloud)
	if take == merge.Upstream {
		r.Lost = merge.Text(r.Field.Spec)
	}
	r.Hash = hashOf(h, path)
	if r.Hash != "" && (take == merge.Spec || r.Secret) {
		r.Patchable = true
		r.Specs = []v1alpha1.HostedClusterSpec{withResolution(h, v1alpha1.Resolution{Path: path, Take: v1alpha1.Side(take), UpstreamHash: r.Hash})}
		return r, nil
	}
	if err := undecidable(r, take); err != nil {
		return nil, err
	}
	var err error
	if take == merge.Upstream {
		r.Specs, err = adopted(h, path)
	} else {
		r.Specs, err = toggled(h, path)
	}
	return r, err
}

// hashOf returns the hash of the conflict of a field, or "".
func hashOf(h *v1alpha1.HostedCluster, path string) string {
	for _, c := range h.Status.Conflicts {
		if c.Path == path {
			return c.UpstreamHash
		}
	}
	return ""
}

// undecidable says why nobody can decide about a field that is not in conflict.
func undecidable(r *Resolution, take merge.Side) error {
	f := r.Field
	switch state := merge.State(f.State); {
	case r.Hash != "":
		return nil
	case state == merge.Agreed:
		return fmt.Errorf("%s has no conflict: both sides agree on %s", f.Path, f.Spec)
	case state == merge.Floating:
		return fmt.Errorf("%s has no conflict: it changes by itself, and is not compared", f.Path)
	case state == merge.Pushed, state == merge.WrittenBack:
		return fmt.Errorf("%s has no conflict: it is %s, and the operator does the rest", f.Path, state)
	case state == merge.Conflict:
		return fmt.Errorf("the operator has not seen the conflict of %s yet: run the command again", f.Path)
	case state == merge.ImmutableDiffers && take == merge.Spec:
		return fmt.Errorf("%s cannot be changed in the cloud. Take the cloud's value, or create another cluster or pool", f.Path)
	default:
		return nil
	}
}

// unknown says which fields there are.
func unknown(h *v1alpha1.HostedCluster, plan *Plan, path string) error {
	if table := tables.Of(h.Spec.ClusterConfig); table != nil && merge.RowOf(table, path) != nil {
		return fmt.Errorf("the spec does not set %s, so it has no conflict", path)
	}
	var differ []string
	for _, f := range plan.Fields {
		if f.State != string(merge.Agreed) {
			differ = append(differ, f.Path)
		}
	}
	if len(differ) == 0 {
		return fmt.Errorf("there is no field %s, and no field is in conflict", path)
	}
	return fmt.Errorf("there is no field %s; fields that differ: %s", path, strings.Join(differ, ", "))
}

// withResolution returns the spec with a resolution, in place of an older one for the same path. If there are too
// many, those that match no conflict go: they have no effect.
func withResolution(h *v1alpha1.HostedCluster, resolution v1alpha1.Resolution) v1alpha1.HostedClusterSpec {
	spec := *h.Spec.DeepCopy()
	all := slices.DeleteFunc(spec.Sync.Resolutions, func(r v1alpha1.Resolution) bool { return r.Path == resolution.Path })
	if len(all) >= maxResolutions {
		all = slices.DeleteFunc(all, func(r v1alpha1.Resolution) bool {
			return !slices.ContainsFunc(h.Status.Conflicts, func(c v1alpha1.Conflict) bool { return c.Path == r.Path && c.UpstreamHash == r.UpstreamHash })
		})
	}
	all = append(all, resolution)
	spec.Sync.Resolutions = all
	return spec
}

// adopted returns the spec with the cloud's value.
func adopted(h *v1alpha1.HostedCluster, path string) ([]v1alpha1.HostedClusterSpec, error) {
	adopted, err := Adopt(h, h.Spec, []string{path})
	return []v1alpha1.HostedClusterSpec{adopted.Spec}, err
}

// toggled returns the spec without the field, and then the spec as it is. An item that the spec lacks is added
// first.
func toggled(h *v1alpha1.HostedCluster, path string) ([]v1alpha1.HostedClusterSpec, error) {
	table := tables.Of(h.Spec.ClusterConfig)
	config, err := ledger.Tree(h.Spec.ClusterConfig)
	if err != nil {
		return nil, err
	}
	var first any
	if !slices.ContainsFunc(merge.ValuesOf(table, config), func(v merge.Value) bool { return v.Path == path }) {
		if row := merge.RowOf(table, path); !isItem(row, path) {
			return nil, errors.New("the spec does not have this entry, so its value cannot be sent. Remove the entry in the cloud, or take the cloud's side")
		}
		first = true
	}
	if config, err = merge.Edited(table, config, map[string]any{path: first}); err != nil {
		return nil, err
	}
	without := *h.Spec.DeepCopy()
	without.ClusterConfig, err = ledger.Typed(h.Spec.ClusterConfig, config)
	return []v1alpha1.HostedClusterSpec{without, *h.Spec.DeepCopy()}, err
}

// Adopted is a spec that has values of the cloud.
type Adopted struct {
	Spec v1alpha1.HostedClusterSpec
	// Values are the new values, by path, as merge.Edited takes them.
	Values map[string]any
	// Changes are the same, for people.
	Changes []Change
}

// Adopt returns the spec with the cloud's values of these leaves. The cloud is what the operator last read.
func Adopt(h *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec, paths []string) (Adopted, error) {
	out := Adopted{Spec: *spec.DeepCopy(), Values: map[string]any{}}
	table := tables.Of(spec.ClusterConfig)
	config, err := ledger.Tree(spec.ClusterConfig)
	if err != nil {
		return out, err
	}
	upstream, err := ledger.Tree(h.Status.UpstreamSpec)
	if err != nil {
		return out, err
	}
	has, cloudHas := byPath(merge.ValuesOf(table, config)), byPath(merge.ValuesOf(table, cloud.Unmarked(upstream)))
	s := shower{table, merge.Input{}}
	for _, path := range paths {
		value := merge.Absent(path, has[path].Value)
		if there, ok := cloudHas[path]; ok {
			value = there.Value
		}
		from, to := s.of(path, jsonText(has[path].Value)), s.of(path, jsonText(value))
		if row := merge.RowOf(table, path); row != nil && isItem(row, path) {
			from, to = exists(presence(has[path].Item)), exists(presence(cloudHas[path].Item))
		}
		if string(from) != string(to) {
			out.Values[path] = value
			out.Changes = append(out.Changes, Change{path, from, to})
		}
	}
	sortChanges(out.Changes)
	if config, err = merge.Edited(table, config, out.Values); err == nil {
		out.Spec.ClusterConfig, err = ledger.Typed(spec.ClusterConfig, config)
	}
	return out, err
}

func byPath(values []merge.Value) map[string]merge.Value {
	all := map[string]merge.Value{}
	for _, value := range values {
		all[value.Path] = value
	}
	return all
}
