package merge

import (
	"cmp"
	"slices"
	"strings"
)

// Write is one request to the cloud.
type Write struct {
	Call string
	// Item is the path of the item that it changes; empty for the cluster.
	Item string
	// Set has the changes, by path. Nil removes a value.
	Set map[string]any
	// Message has the same changes in the form of the configuration. If the call replaces all its fields,
	// Message has the others as they are in the cloud. Otherwise, null stands for each key of a map that is
	// removed.
	Message map[string]any
	// Sent is the value for Input.Sent, once the request may have been sent.
	Sent map[string]Text
	// Version is the version of the values that were compared. The cloud has to refuse the request if it has
	// another version. Empty if the item does not exist.
	Version string
}

func (m *merger) writes() []Write {
	var writes []Write
	changed := map[[2]string][]*leaf{}
	for _, at := range m.pushed {
		call, item := at.field.Call, at.item
		if at.exists {
			item = at.path
			if at.text == Null {
				call = at.field.Delete
			}
		}
		key := [2]string{call, item}
		if changed[key] == nil {
			writes = append(writes, Write{Call: call, Item: item, Version: m.in.Versions[item]})
		}
		changed[key] = append(changed[key], at)
		if at.exists && at.text != Null {
			// A new item has nothing to remove.
			fields := slices.DeleteFunc(m.spec.of(at.path), func(field *leaf) bool { return field.value == nil })
			changed[key] = append(changed[key], fields...)
		}
	}
	for i := range writes {
		m.complete(&writes[i], changed[[2]string{writes[i].Call, writes[i].Item}])
	}
	slices.SortFunc(writes, func(a, b Write) int {
		order := m.in.Table.order
		return cmp.Or(cmp.Compare(order(a.Call), order(b.Call)), strings.Compare(a.Item, b.Item))
	})
	return writes
}

// complete sets the message of a write: the changes, and the other fields if the call replaces all its
// fields.
func (m *merger) complete(w *Write, changed []*leaf) {
	w.Set, w.Sent = map[string]any{}, map[string]Text{}
	message := &leaves{at: map[string]*leaf{}, sets: map[string]*leaf{}}
	whole := m.in.Table.Call(w.Call).Whole
	if whole {
		for path, leaf := range m.upstream.at {
			if leaf.field.Call == w.Call && leaf.item == w.Item && !leaf.exists {
				message.at[path] = leaf
			}
		}
	}
	for _, leaf := range changed {
		w.Set[leaf.path], w.Sent[leaf.path] = leaf.value, leaf.text
		message.at[leaf.path] = leaf
		if whole && leaf.value == nil {
			delete(message.at, leaf.path)
			if list := m.spec.sets[leaf.list]; list != nil {
				// If it was the last entry, the message needs an empty list.
				message.sets[leaf.list] = list
			}
		}
	}
	w.Message = m.in.Table.build(message)
}
