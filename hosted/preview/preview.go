// Package preview computes what the operator would do with a HostedCluster, from its status alone. It runs the
// operator's own merge, does no I/O, and asks no cloud.
//
// The status has what the merge needs: the cluster as it was last read, what both sides last agreed on, open
// conflicts, and the request that is in progress or was refused. Three things are not in the status: changes
// that somebody has made in the cloud since the last read, versions, and which pools do not work. So a request
// may turn out to be outdated, and then the operator decides again; and the deletion of a pool may have to wait.
package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
)

// Plan is what the operator would do.
type Plan struct {
	Name string `json:"name"`
	// Changes says that the operator would send a request, or write to the spec.
	Changes bool `json:"changes"`
	// Blocked says why the operator does nothing for now; empty if it works.
	Blocked string `json:"blocked,omitempty"`
	// Fields are the fields that the spec sets.
	Fields []Field `json:"fields"`
	// InProgress are the requests that the operator has sent already. The plan assumes that they succeed.
	InProgress []Request `json:"inProgress,omitempty"`
	// Requests are the requests to the cloud, in order.
	Requests []Request `json:"requests"`
	// SpecWrites are the fields of the spec that the operator overwrites with the cloud's values.
	SpecWrites []Change `json:"specWrites,omitempty"`
	// Lost are values that are overwritten although their author did not know.
	Lost []Loss `json:"lost,omitempty"`
	// Notes say what else matters.
	Notes []string `json:"notes,omitempty"`
}

// Field is a field that the spec sets, with the values of both sides.
type Field struct {
	Path  string `json:"path"`
	State string `json:"state"`
	// Base is what the cloud had when both sides last agreed. It is unset if the spec did not set the field then.
	Base  json.RawMessage `json:"base,omitempty"`
	Spec  json.RawMessage `json:"spec"`
	Cloud json.RawMessage `json:"cloud"`
	// Hash identifies the conflict.
	Hash string `json:"hash,omitempty"`
	// Since is when the operator first saw the conflict, or decided that the cloud's value holds.
	Since *time.Time `json:"since,omitempty"`
	// Item says that the field is the existence of an item, such as a pool.
	Item bool `json:"item,omitempty"`
}

// Change is a new value of a field.
type Change struct {
	Path string          `json:"path"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// Request is a request to the cloud.
type Request struct {
	Call string `json:"call"`
	// Item is the pool that it changes; empty for the cluster.
	Item    string   `json:"item,omitempty"`
	Changes []Change `json:"changes"`
	// Guard says what keeps the request from overwriting a change that came after the last read.
	Guard merge.Guard `json:"guard,omitempty"`
	// Nodes says what happens to nodes; empty if they stay.
	Nodes merge.Nodes `json:"nodes,omitempty"`
	// Rights are the rights in the cloud that the request takes.
	Rights []string `json:"rights,omitempty"`
	// Together says that the cloud carries the request out at the same time as others of the plan, for other pools.
	Together bool `json:"together,omitempty"`
	// Waits says what the request waits for.
	Waits string `json:"waits,omitempty"`
	// Refused is why the cloud refused it the last time, and RetryAt when it is sent again.
	Refused string     `json:"refused,omitempty"`
	RetryAt *time.Time `json:"retryAt,omitempty"`
}

// Loss is a value that is overwritten although its author did not know.
type Loss struct {
	Path string `json:"path"`
	// Take is the side that wins: Spec or Upstream, which is the cloud.
	Take merge.Side      `json:"take"`
	Kept json.RawMessage `json:"kept"`
	Lost json.RawMessage `json:"lost"`
}

// ErrNotRead: the status does not have the cluster.
var ErrNotRead = errors.New("the operator has not read the cluster yet, so nobody knows what would change")

// Of returns what the operator would do if the object had this spec, and the cloud still had what the operator
// last read.
func Of(live *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec, now time.Time) (*Plan, error) {
	h := live.DeepCopy()
	h.Spec = spec
	table := tables.Of(spec.ClusterConfig)
	if table == nil || table != tables.Of(live.Spec.ClusterConfig) {
		return nil, errors.New("a HostedCluster cannot change its cloud")
	}
	p := &Plan{Name: live.Name, Fields: []Field{}, Requests: []Request{}, Blocked: blocked(h), Notes: notes(h)}
	if !equality.Semantic.DeepEqual(spec, live.Spec) {
		h.Generation++ // As the API server does.
	}
	if !state.Imported(h) {
		return p, p.create(h, table)
	}
	in, err := input(h, table, now)
	if err != nil {
		return nil, err
	}
	s := shower{table, in}
	merged := merge.Merge(in)
	p.Fields = s.fields(h, merged)
	p.Requests = s.requests(h, merged)
	p.InProgress = s.inProgress(h)
	for path, value := range merged.SpecWrites {
		p.SpecWrites = append(p.SpecWrites, Change{path, s.of(path, specText(merged, path)), s.of(path, jsonText(value))})
	}
	sortChanges(p.SpecWrites)
	for _, d := range merged.Decisions {
		p.Lost = append(p.Lost, Loss{d.Path, d.Take, s.of(d.Path, d.Kept), s.of(d.Path, d.Lost)})
	}
	for _, path := range merged.Stale {
		p.Notes = append(p.Notes, fmt.Sprintf("the resolution of %s in spec.sync.resolutions matches no conflict, and has no effect", path))
	}
	p.Changes = p.Blocked == "" && len(p.Requests)+len(p.SpecWrites) > 0
	return p, nil
}

// input returns what the merge would know if the cloud were read now, and nobody had changed it. Requests in
// progress count as carried out.
func input(h *v1alpha1.HostedCluster, table *merge.Table, now time.Time) (merge.Input, error) {
	upstream, err := ledger.Tree(h.Status.UpstreamSpec)
	if err != nil {
		return merge.Input{}, fmt.Errorf("status.upstreamSpec: %w", err)
	}
	versions := map[string]string{}
	for _, op := range h.Status.Operations {
		versions[op.Item] = op.Version
	}
	sent := map[string]any{}
	for _, op := range inFlight(h) {
		for path, text := range ledger.Sent(op) {
			switch row := merge.RowOf(table, path); {
			case row == nil:
			case text != merge.Null && isItem(row, path):
				sent[path] = true
			default:
				sent[path] = text.Value()
			}
		}
	}
	if upstream, err = merge.Edited(table, upstream, sent); err != nil {
		return merge.Input{}, err
	}
	return ledger.Input(h, table, cloud.Reading{Config: upstream, Complete: true, Versions: versions}, now)
}

// inFlight returns the requests that were sent, and whose result was not read yet.
func inFlight(h *v1alpha1.HostedCluster) []v1alpha1.Operation {
	return slices.DeleteFunc(slices.Clone(h.Status.Operations), func(op v1alpha1.Operation) bool { return op.Message != "" })
}

// create plans the creation of a cluster.
func (p *Plan) create(h *v1alpha1.HostedCluster, table *merge.Table) error {
	if h.Spec.Lifecycle.Mode != v1alpha1.LifecycleCreate {
		return ErrNotRead
	}
	spec, err := ledger.Tree(h.Spec.ClusterConfig)
	if err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	s := shower{table, merge.Input{}}
	request := Request{Call: state.CallCreate, Nodes: merge.NodesAdded, Rights: creating(h.Spec.ClusterConfig), Changes: []Change{}}
	for _, value := range merge.ValuesOf(table, spec) {
		if value.Item {
			continue
		}
		text := jsonText(value.Value)
		request.Changes = append(request.Changes, Change{value.Path, null, s.of(value.Path, text)})
		p.Fields = append(p.Fields, Field{Path: value.Path, State: string(merge.Pushed), Spec: s.of(value.Path, text), Cloud: null})
	}
	if op := h.Status.InFlight(); op != nil && op.Call == state.CallCreate {
		p.InProgress = []Request{request}
	} else {
		p.Requests = append(p.Requests, request)
	}
	p.Notes = append(p.Notes, "the cluster is created only if the cloud has none of its name. What this request cannot express is sent once the cluster exists")
	p.Changes = p.Blocked == "" && len(p.Requests) > 0
	return nil
}

// creating returns the rights to create a cluster.
func creating(config v1alpha1.ClusterConfig) []string {
	switch {
	case config.EKSConfig != nil:
		return []string{"eks:CreateCluster", "eks:TagResource", "iam:PassRole"}
	case config.AKSConfig != nil:
		return []string{"Microsoft.ContainerService/managedClusters/write"}
	default:
		return []string{"container.clusters.create"}
	}
}
