// Package merge decides, for each field of a hosted cluster, whose value holds: that of
// the spec, or that of the cloud. It knows no cloud, and does no I/O.
//
// A cluster is read into leaves by a Table: a scalar is one leaf, a map has one for each
// key, a list of pools one for each field of each pool. For each leaf that the spec sets,
// there is a base, which is what both sides had when they last agreed. Compared with it,
// either nobody, or the spec, or the cloud, or both have changed:
//
//	neither     nothing is done
//	spec        Pushed: the spec is sent to the cloud
//	cloud       Policy.External: Superseded, Drifted, or the spec is sent nevertheless
//	both        Policy.Conflict: Conflict, which freezes this leaf only, or either side
//
// What loses a value that its author had not been told to lose is a Decision, which has to
// be stored before the request that overwrites it. A leaf that the spec does not set is
// not managed: it is never sent.
//
// The base advances for what was read back, never for what was sent. So what Merge returns
// can be lost at any time: the next read leads to the same end. The price is that what
// was sent has to be remembered until it is read (Input.Sent). Otherwise, an edit that
// takes the spec back while it is being sent would look like somebody's edit in the cloud.
package merge

import (
	"fmt"
	"strings"
)

// Shape says how a field is divided into leaves.
type Shape int

// The shapes.
const (
	// Scalar is a string, a number or a boolean.
	Scalar Shape = iota + 1
	// Whole is compared and sent as one value, and its order matters.
	Whole
	// Set is a list of scalars, sent as one value; its order does not matter.
	Set
	// Map has one leaf for each key. Keys that the spec does not have are kept, and null
	// deletes one.
	Map
	// Keyed is a list of which each item is found by a key. If there are fields below it,
	// as in a pool, each of them is a leaf, and so is the existence of the item. Otherwise
	// each item is a leaf as a whole, as a taint is.
	Keyed
)

// Field is one row of a Table.
type Field struct {
	// Path names the field, such as nodePools[].autoscaling.enabled. The brackets stand
	// for the items of a Keyed list.
	Path  string
	Shape Shape
	// Key is the field of a Keyed list's items that identifies them. KeyOf does it for
	// items for which it takes more than that.
	Key   string
	KeyOf func(item any) string
	// Owned is set if a Keyed list, once set, is all there should be: what it does not
	// list is removed. Without it that depends on Policies.Exclusive.
	Owned bool
	// Immutable fields cannot be changed by any call.
	Immutable bool
	// Call is the name of the Call that changes the field; for a Keyed list of items with
	// fields, the one that creates an item. Delete is the call that deletes one.
	Call, Delete string
	// Normalize returns a value as the cloud takes it, and writes it. Of a Map or a Set, it
	// gets each value; of a Whole field or a Keyed list without fields, all of it or an
	// item.
	Normalize func(any) any
	// Same tells whether the cloud's value is what the spec asks for, where that is more
	// than being equal.
	Same func(spec, upstream any) bool
	// Floats tells, of an item as it is in the cloud, that the value moves by itself. It
	// is then neither compared nor sent.
	Floats func(item map[string]any) bool
}

// Guard says what keeps a request from overwriting what came after the read that it was
// decided on.
type Guard string

// The guards.
const (
	// ByVersion: the request names the version that came with the read, and the cloud
	// refuses it if there is another.
	ByVersion Guard = "Version"
	// ByOperations: the cloud knows no version, but lists what was done. Somebody else's
	// operation before, during or after ours is seen, and what it lost is a Decision.
	ByOperations Guard = "Operations"
	// ByReading: there is neither. What was changed is read again; it is one key, which
	// is set or removed without the others.
	ByReading Guard = "Reading"
)

// Call is one kind of request that changes a cluster.
type Call struct {
	Name  string
	Guard Guard
	// Whole is set if the request replaces all fields of the call, so that those that it
	// leaves out would be reset. It is given the others as they are in the cloud.
	Whole bool
}

// Table describes the configuration of the clusters of a cloud.
type Table struct {
	Fields []Field
	// Calls are in the order in which they have to be made.
	Calls []Call

	root *node
}

// node is a step of a path: the fields of an object, by name.
type node struct {
	names    []string // in the order of the table
	children map[string]*node
	field    *Field
	// items is what an item of a Keyed list has below it; nil if it is a leaf as a whole.
	items *node
}

// New returns the table. It panics if rows contradict each other: tables are constants.
func New(calls []Call, fields []Field) *Table {
	t := &Table{Fields: fields, Calls: calls, root: &node{}}
	for i := range t.Fields {
		t.add(&t.Fields[i])
	}
	for _, f := range t.Fields {
		if f.Shape == Keyed && !f.Immutable && f.Delete == "" && !t.whole(f.Call) {
			panic(f.Path + " has items without fields, which can be removed only by a call that replaces them all")
		}
	}
	return t
}

func (t *Table) add(f *Field) {
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

func (t *Table) whole(call string) bool { return t.Calls[t.order(call)].Whole }
