package preview

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
)

var null = json.RawMessage("null")

// shower shows what the merge has decided.
type shower struct {
	table *merge.Table
	in    merge.Input
}

// of returns a value as JSON. It hides a value that may have credentials.
func (s shower) of(path string, text merge.Text) json.RawMessage {
	if row := merge.RowOf(s.table, path); row != nil && row.Secret && text != merge.Null && text != "" {
		return json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("(not shown; SHA-256 %x)", sha256.Sum256([]byte(text)))[:40]+")"))
	}
	if text == "" || !json.Valid([]byte(text)) {
		return null
	}
	return json.RawMessage(text)
}

func (s shower) fields(h *v1alpha1.HostedCluster, plan merge.Plan) []Field {
	fields := []Field{}
	for _, leaf := range plan.Leaves {
		f := Field{Path: leaf.Path, State: string(leaf.State), Spec: s.of(leaf.Path, leaf.Spec), Cloud: s.of(leaf.Path, leaf.Upstream), Item: leaf.Item}
		base, known := s.in.Base[leaf.Path]
		if known {
			f.Base = s.of(leaf.Path, base.Upstream)
		}
		if leaf.Item {
			// The values are digests of the fields, which say nothing to people.
			f.Spec, f.Cloud = exists(leaf.Spec), exists(leaf.Upstream)
			if known {
				f.Base = exists(base.Upstream)
			}
		}
		for _, c := range plan.Conflicts {
			if c.Path == leaf.Path {
				f.Hash, f.Since = c.Hash, &c.Since
			}
		}
		for _, d := range h.Status.Decisions {
			if leaf.State == merge.Superseded && d.Path == leaf.Path && d.Take == v1alpha1.SideUpstream {
				f.Since = &d.Time.Time
			}
		}
		fields = append(fields, f)
	}
	return fields
}

func exists(text merge.Text) json.RawMessage {
	if text == merge.Null || text == "" {
		return json.RawMessage(`"absent"`)
	}
	return json.RawMessage(`"exists"`)
}

func isItem(row *merge.Field, path string) bool {
	return row.Shape == merge.Keyed && row.Key != "" && strings.HasSuffix(path, "]")
}

// requests returns the requests of a plan, in order, with what each waits for.
func (s shower) requests(h *v1alpha1.HostedCluster, plan merge.Plan) []Request {
	waits := s.table.Waits(plan, merge.Held{Refused: ledger.Refusals(h), Now: s.in.Now})
	requests := []Request{}
	for i, write := range plan.Writes {
		r := s.request(write.Call, write.Item, write.Sent)
		r.Waits = waits[i].For
		r.Together = slices.ContainsFunc(plan.Writes, func(other merge.Write) bool {
			return other.Item != write.Item && s.table.Parallel(other.Call) && s.table.Parallel(write.Call)
		})
		for _, op := range h.Status.Operations {
			if op.Message != "" && op.Call == write.Call && op.Item == write.Item && maps.Equal(ledger.Sent(op), write.Sent) {
				r.Refused = op.Message
				if op.RetryAt != nil && waits[i].Refused {
					r.RetryAt = &op.RetryAt.Time
				}
			}
		}
		requests = append(requests, r)
	}
	return requests
}

// inProgress returns the requests that were sent, and whose result was not read yet.
func (s shower) inProgress(h *v1alpha1.HostedCluster) []Request {
	var all []Request
	for _, op := range inFlight(h) {
		if !slices.ContainsFunc(s.table.Calls, func(c merge.Call) bool { return c.Name == op.Call }) {
			continue
		}
		r := s.request(op.Call, op.Item, ledger.Sent(op))
		for i := range r.Changes {
			r.Changes[i].From = null // The cloud may have the new value already.
		}
		all = append(all, r)
	}
	return all
}

func (s shower) request(name, item string, sent map[string]merge.Text) Request {
	call := s.table.Call(name)
	r := Request{Call: name, Item: item, Guard: call.Guard, Nodes: call.Nodes, Rights: slices.Clone(call.Rights), Changes: []Change{}}
	was := map[string]merge.Value{}
	for _, value := range merge.ValuesOf(s.table, s.in.Upstream) {
		was[value.Path] = value
	}
	for _, path := range slices.Sorted(maps.Keys(sent)) {
		row := merge.RowOf(s.table, path)
		if row == nil {
			continue
		}
		if isItem(row, path) {
			from, _ := was[path]
			r.Changes = append(r.Changes, Change{path, exists(presence(from.Item)), exists(sent[path])})
			continue
		}
		r.Changes = append(r.Changes, Change{path, s.of(path, jsonText(was[path].Value)), s.of(path, sent[path])})
		if row.Nodes != merge.NodesStay && r.Nodes == merge.NodesStay {
			r.Nodes = row.Nodes
		}
		if row.Call != name {
			for _, right := range row.Rights {
				if !slices.Contains(r.Rights, right) {
					r.Rights = append(r.Rights, right)
				}
			}
		}
	}
	return r
}

func presence(is bool) merge.Text {
	if is {
		return "true"
	}
	return merge.Null
}

// jsonText returns a value as the merge writes it.
func jsonText(value any) merge.Text {
	text, err := json.Marshal(value)
	if err != nil {
		return merge.Null // Values come from JSON.
	}
	return merge.Text(text)
}

func specText(plan merge.Plan, path string) merge.Text {
	for _, leaf := range plan.Leaves {
		if leaf.Path == path {
			return leaf.Spec
		}
	}
	return merge.Null
}

func sortChanges(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
}
