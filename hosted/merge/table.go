// Package merge decides, for each field of a hosted cluster, whether the value of the spec or of the cloud holds.
// It knows no cloud, and does no I/O.
//
// A Table splits a cluster into leaves: a scalar is one leaf, a map has one for each key, a list of pools has one
// for each field of each pool. Each leaf that the spec sets has a base: what both sides had when they last
// agreed. Compared with it, either nobody, or the spec, or the cloud, or both have changed:
//
//	neither     nothing is done
//	spec        Pushed: the spec is sent to the cloud
//	cloud       Policy.External: Superseded, Drifted, or the spec is sent nevertheless
//	both        Policy.Conflict: Conflict, which freezes this leaf only, or either side
//
// If a value is lost and its author did not know, that is a Decision. It must be stored before the request that
// overwrites the value. A leaf that the spec does not set is not managed: it is never sent.
//
// The base advances when a value is read back, never when it is sent. So the result of Merge may be lost at any
// time: the next read leads to the same end. In return, what was sent must be remembered until it is read
// (Input.Sent). Otherwise, an edit that reverts the spec while it is being sent would look like somebody's edit
// in the cloud.
package merge

import (
	"fmt"
	"slices"
	"strings"
)

// Shape says how a field is split into leaves.
type Shape int

// The shapes.
const (
	// Scalar is a string, a number or a boolean.
	Scalar Shape = iota + 1
	// Whole is compared and sent as one value, and its order matters.
	Whole
	// Set is a list of scalars, sent as one value. Its order does not matter.
	Set
	// Map has one leaf for each key. Keys that the spec does not have are kept. Null deletes a key.
	Map
	// Keyed is a list whose items are identified by a key. If there are fields below it, as in a pool, each
	// field is a leaf, and so is the existence of the item. Otherwise each item is one leaf, such as a taint.
	Keyed
)

// Field is one row of a Table.
type Field struct {
	// Path names the field, such as nodePools[].autoscaling.enabled. The brackets stand for the items of a
	// Keyed list.
	Path  string
	Shape Shape
	// Key is the field that identifies the items of a Keyed list. KeyOf returns the key of an item if one
	// field is not enough.
	Key   string
	KeyOf func(item any) string
	// Owned says that a Keyed list in the spec excludes all other items, which are removed. Without it,
	// Policies.Exclusive decides.
	Owned bool
	// Immutable says that no call can change the field.
	Immutable bool
	// Call is the name of the Call that changes the field. For a Keyed list of items with fields, Call
	// creates an item, and Delete deletes one.
	Call, Delete string
	// Normalize returns a value in the cloud's form. For a Map or a Set, it gets each value. For a Keyed list
	// without fields, it gets each item; for a Whole field, the whole value.
	Normalize func(any) any
	// Same reports whether the cloud's value is what the spec asks for, if equality is not enough. Optional.
	Same func(spec, upstream any) bool
	// Floats reports whether the value in this item of the cloud changes by itself. Such a value is neither
	// compared nor sent.
	Floats func(item map[string]any) bool
	// Nodes says what a request that changes the field does to nodes, if it does more than the call says.
	Nodes Nodes
	// Rights are the rights that a request takes besides those of its call, if it creates an item with this field.
	Rights []string
	// Secret says that the value may have credentials, so it must not be shown.
	Secret bool
}

// Nodes says what a request does to nodes.
type Nodes string

// What a request does to nodes.
const (
	// NodesStay: nodes stay as they are.
	NodesStay Nodes = ""
	// NodesResized: nodes may be added or removed.
	NodesResized Nodes = "Resized"
	// NodesAdded: a pool is created.
	NodesAdded Nodes = "Added"
	// NodesRemoved: a pool is deleted with its nodes.
	NodesRemoved Nodes = "Removed"
	// NodesReplaced: the nodes are replaced by new ones, a few at a time.
	NodesReplaced Nodes = "Replaced"
)

// Guard says what prevents a request from overwriting a change that came after the reading.
type Guard string

// The guards.
const (
	// ByVersion: the request has the version that was read, and the cloud refuses it if the version has
	// changed.
	ByVersion Guard = "Version"
	// ByOperations: the cloud has no versions, but lists the operations. The list shows somebody else's
	// operation before, during or after ours. If ours has overwritten it, there is a Decision.
	ByOperations Guard = "Operations"
	// ByReading: the cloud has neither. A request sets or removes single keys, and these are read again
	// afterwards.
	ByReading Guard = "Reading"
)

// Call is one kind of request that changes a cluster.
type Call struct {
	Name  string
	Guard Guard
	// Whole says that the request replaces all fields of the call, and would reset those that it leaves out.
	// So Merge adds the others as they are in the cloud.
	Whole bool
	// Parallel says that the cloud carries out several such requests at a time, each for another item. Other requests
	// wait until all is done.
	Parallel bool
	// After lists calls that come before this one in the table. While the plan has one of them that was refused,
	// or an item that the spec has does not work or is missing in the cloud, this one waits. So pools are deleted only once the pools that
	// replace them were created, and work.
	After []string
	// Nodes says what the request does to nodes.
	Nodes Nodes
	// Rights are the rights in the cloud that the request takes, besides those to read.
	Rights []string
}

// Table describes the configuration of the clusters of a cloud.
type Table struct {
	Fields []Field
	// Calls are in the order in which they have to be sent.
	Calls []Call

	root *node
}

// node is a step of a path: the fields of an object, by name.
type node struct {
	names    []string // in the order of the table
	children map[string]*node
	field    *Field
	// items has the fields of the items of a Keyed list; nil if each item is one leaf.
	items *node
}

// New returns the table. It panics if rows contradict each other, because tables are constants.
func New(calls []Call, fields []Field) *Table {
	t := &Table{Fields: fields, Calls: calls, root: &node{}}
	for i := range t.Fields {
		add(t, &t.Fields[i])
	}
	for i, call := range calls {
		for _, before := range call.After {
			if at := t.order(before); at < 0 || at >= i {
				panic(call.Name + " comes after " + before + ", which is not before it in the list of calls")
			}
		}
	}
	for _, f := range t.Fields {
		if f.Shape == Keyed && !f.Immutable && f.Delete == "" && !t.Call(f.Call).Whole {
			panic(f.Path + " has items without fields, which can be removed only by a call that replaces them all")
		}
	}
	return t
}

func add(t *Table, f *Field) {
	n := t.root
	for part := range strings.SplitSeq(f.Path, ".") {
		name, inItems := strings.CutSuffix(part, "[]")
		n = n.child(name)
		if inItems {
			if n.field == nil || n.field.Shape != Keyed {
				panic(fmt.Sprintf("the list of %s has no row before it", f.Path))
			}
			if n.items == nil {
				n.items = &node{}
			}
			n = n.items
		}
	}
	if n.field != nil {
		panic(fmt.Sprintf("%s has two rows", f.Path))
	}
	for _, call := range []string{f.Call, f.Delete} {
		if call != "" && t.order(call) < 0 {
			panic(fmt.Sprintf("%s is changed by %s, which is not in the list of calls", f.Path, call))
		}
	}
	if f.Shape == 0 || f.Shape == Keyed && (f.Key == "") == (f.KeyOf == nil) || f.Immutable == (f.Call != "") && f.Shape != Keyed {
		panic(fmt.Sprintf("%s lacks a shape, a key or a call, or has a call and cannot change", f.Path))
	}
	n.field = f
}

func (n *node) child(name string) *node {
	c := n.children[name]
	if c == nil {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		c = &node{}
		n.children[name], n.names = c, append(n.names, name)
	}
	return c
}

func (t *Table) order(call string) int {
	for i, c := range t.Calls {
		if c.Name == call {
			return i
		}
	}
	return -1
}

// Deletes reports whether a call deletes an item.
func (t *Table) Deletes(call string) bool {
	return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Delete == call && call != "" })
}

// Parallel reports whether the cloud carries out several requests of a call at a time, each for another item.
func (t *Table) Parallel(call string) bool {
	at := t.order(call)
	return at >= 0 && t.Calls[at].Parallel
}
