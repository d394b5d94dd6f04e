// Package order follows the pods of a namespace with tiers, and judges whether they keep to the order. The demo and
// the benchmark use it.
package order

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kind says what has happened.
type Kind string

const (
	// Room: a tier has room for N pods from now on. All pods request the same.
	Room Kind = "room"
	// Asked: N pods are asked for from now on.
	Asked Kind = "asked"
	// Created: a pod waits for a node.
	Created Kind = "created"
	// Placed: it has a node.
	Placed Kind = "placed"
	// Ready: it is Ready for the first time.
	Ready Kind = "ready"
	// Leaves: it is asked to end.
	Leaves Kind = "leaves"
	// Gone: it has ended.
	Gone Kind = "gone"
)

// Nowhere is the tier of a pod without a node.
const Nowhere = -1

// Event is what has happened at a moment.
type Event struct {
	// At is the time since the beginning.
	At   time.Duration `json:"at"`
	Kind Kind          `json:"kind"`
	// Pod is the name of a pod, and Tier is where it is: Nowhere, or counted from 0.
	Pod  string `json:"pod,omitempty"`
	Tier int    `json:"tier"`
	N    int    `json:"n,omitempty"`
	// Note says in a few words what was asked for.
	Note string `json:"note,omitempty"`
}

// Violations says which pods have not kept to the order:
//   - A pod was placed in a tier while an earlier one had room for it. A pod takes up its room until it is gone.
//   - A pod has left a tier, and when the next number of pods was asked for, a later tier still had some of before.
func Violations(events []Event) []string {
	j := judge{room: map[int]int{}, used: map[int]int{}, before: map[string]int{}, since: map[string]int{}}
	for _, e := range events {
		switch e.Kind {
		case Room:
			j.room[e.Tier] = e.N
		case Asked:
			j.step()
		case Placed:
			j.placed(e)
		case Leaves:
			j.leaves(e)
		case Gone:
			j.used[e.Tier]--
		}
	}
	j.step()
	return j.found
}

// judge has how many pods each tier has room for, and how many take it up.
type judge struct {
	room, used map[int]int
	// before and since are the tiers of pods that were placed before and since the last number of pods was asked for,
	// and are not asked to end. left are those that have left since.
	before, since map[string]int
	left          []Event
	found         []string
}

func (j *judge) placed(e Event) {
	for tier := range e.Tier {
		if free := j.room[tier] - j.used[tier]; free > 0 {
			j.found = append(j.found, fmt.Sprintf("pod %s was placed in tier %d while tier %d had room for %d", e.Pod, e.Tier, tier, free))
			break
		}
	}
	j.used[e.Tier]++
	j.since[e.Pod] = e.Tier
}

func (j *judge) leaves(e Event) {
	if _, was := j.before[e.Pod]; was {
		j.left = append(j.left, e)
	}
	delete(j.before, e.Pod)
	delete(j.since, e.Pod)
}

// step judges what has left. A ReplicaSet deletes several pods at once, so their order among each other says nothing.
func (j *judge) step() {
	last := Nowhere
	for _, tier := range j.before {
		last = max(last, tier)
	}
	for _, e := range j.left {
		if e.Tier < last {
			j.found = append(j.found, fmt.Sprintf("pod %s has left tier %d, and tier %d still has pods", e.Pod, e.Tier, last))
		}
	}
	maps.Copy(j.before, j.since)
	j.since, j.left = map[string]int{}, nil
}

// Fill returns how many of n pods are in each tier if all keep to the order. rooms is how many each has room for.
func Fill(n int, rooms []int) []int {
	in := make([]int, len(rooms))
	for tier, room := range rooms {
		in[tier] = min(n, room)
		n -= in[tier]
	}
	return in
}

// Sample is how many pods are asked for, and how many are in each tier and are not asked to end.
type Sample struct {
	At    time.Duration
	Asked int
	In    []int
}

// Samples returns one sample for each event that changes it.
func Samples(events []Event, tiers int) []Sample {
	var all []Sample
	is := Sample{In: make([]int, tiers)}
	for _, e := range events {
		in := slices.Clone(is.In)
		switch {
		case e.Kind == Asked:
			is.Asked = e.N
		case e.Kind == Placed:
			in[e.Tier]++
		case e.Kind == Leaves && e.Tier != Nowhere:
			in[e.Tier]--
		default:
			continue
		}
		is.At, is.In = e.At, in
		all = append(all, is)
	}
	return all
}
