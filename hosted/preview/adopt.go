package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Choice says which fields to adopt.
type Choice struct {
	// Fields are paths. Each stands for itself and all below it.
	Fields []string
	// Drifted chooses the fields that the spec sets, and of which the cloud's value holds or differs for good. It
	// leaves out conflicts, because they need a decision.
	Drifted bool
	// All chooses everything that the cloud has, except values that change by themselves.
	All bool
}

// Paths returns the paths of the chosen leaves, sorted. The plan is for the spec that is to be changed.
func (c Choice) Paths(h *v1alpha1.HostedCluster, plan *Plan) ([]string, error) {
	table := tables.Of(h.Spec.ClusterConfig)
	upstream, err := ledger.Tree(h.Status.UpstreamSpec)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, field := range plan.Fields {
		state := merge.State(field.State)
		if c.Drifted && (state == merge.Superseded || state == merge.Drifted || state == merge.WrittenBack || state == merge.ImmutableDiffers) {
			paths = append(paths, field.Path)
		}
	}
	for _, value := range merge.ValuesOf(table, cloud.Unmarked(upstream)) {
		if c.All && !value.Floats {
			paths = append(paths, value.Path)
		}
	}
	for _, at := range c.Fields {
		below := belowOf(table, cloud.Unmarked(upstream), plan, at)
		if len(below) == 0 {
			return nil, noField(table, at)
		}
		paths = append(paths, below...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// belowOf returns the leaves at a path and below it that the spec or the cloud has.
func belowOf(table *merge.Table, upstream map[string]any, plan *Plan, at string) []string {
	var paths []string
	for _, value := range merge.ValuesOf(table, upstream) {
		if merge.Within(value.Path, at) {
			paths = append(paths, value.Path)
		}
	}
	for _, field := range plan.Fields {
		if merge.Within(field.Path, at) {
			paths = append(paths, field.Path)
		}
	}
	return paths
}

func noField(table *merge.Table, path string) error {
	if merge.RowOf(table, path) != nil {
		return fmt.Errorf("neither the spec nor the cloud has %s", path)
	}
	for _, field := range table.Fields {
		if strings.HasPrefix(field.Path, path+".") {
			return fmt.Errorf("neither the spec nor the cloud has %s", path)
		}
	}
	return fmt.Errorf("there is no field %s; a path looks like tags[\"owner\"] or nodePools[\"workers\"].count", path)
}

// Unproven says why a spec does not only follow the cloud: the requests that it would lead to, and its conflicts.
// It returns nothing if there are none.
func Unproven(plan *Plan) []string {
	var why []string
	for _, request := range plan.Requests {
		var paths []string
		for _, change := range request.Changes {
			paths = append(paths, change.Path)
		}
		why = append(why, fmt.Sprintf("%s would be sent: %s", strings.TrimSpace(request.Call+" "+request.Item), strings.Join(paths, ", ")))
	}
	for _, field := range plan.Fields {
		if field.State == string(merge.Conflict) {
			why = append(why, fmt.Sprintf("%s is in conflict: the spec has %s, the cloud %s", field.Path, field.Spec, field.Cloud))
		}
	}
	return why
}
