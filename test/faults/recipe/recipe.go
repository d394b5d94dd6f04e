// Package recipe says which faults happen to a manager in one run, and where. A recipe is a list of faults,
// each at a request. A request is known by what it asks, not by when it comes: the order of independent
// requests differs between runs.
//
// A recipe is one line of text, so that a reader of a failure can paste it:
//
//	crash-after-commit p1 create pods team-a-lane/web 1
//
// This is a crash after the first creation of that pod was committed. Semicolons separate several faults;
// each is armed when the previous one has happened.
package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Point is a request of a manager, or an event of a watch.
type Point struct {
	// Cluster is "consumer" or the clusterID of a provider.
	Cluster string
	// Verb, Resource and Subresource are Kubernetes' own. The verb "watch" means the events of all watches of
	// the resource.
	Verb, Resource, Subresource string
	// Namespace and Name identify the object; both may be empty.
	Namespace, Name string
	// Occurrence counts equal requests of a run, from 1. For a watch it is the event at which the fault
	// begins.
	Occurrence int
}

// nothing stands for an empty name.
const nothing = "-"

// String returns the text that Parse reads.
func (p Point) String() string {
	resource, object := p.Resource, p.Name
	if p.Subresource != "" {
		resource += "/" + p.Subresource
	}
	if p.Namespace != "" {
		object = p.Namespace + "/" + p.Name
	}
	if object == "" {
		object = nothing
	}
	return fmt.Sprintf("%s %s %s %s %d", p.Cluster, p.Verb, resource, object, p.Occurrence)
}

// Signature returns the point without its occurrence.
func (p Point) Signature() Point {
	p.Occurrence = 0
	return p
}

// Fault is what happens at a point.
type Fault struct {
	At   Point
	Kind Kind
}

// String returns the text that Parse reads.
func (f Fault) String() string { return string(f.Kind) + " " + f.At.String() }

// Recipe lists the faults of a run. An empty one is the reference.
type Recipe []Fault

// separator is between faults.
const separator = "; "

// String returns the text that Parse reads.
func (r Recipe) String() string {
	parts := make([]string, len(r))
	for i, fault := range r {
		parts[i] = fault.String()
	}
	return strings.Join(parts, separator)
}

// Parse reads the text that String returns. Blank text is the empty recipe.
func Parse(text string) (Recipe, error) {
	var r Recipe
	for part := range strings.SplitSeq(text, strings.TrimSpace(separator)) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		fault, err := parseFault(strings.Fields(part))
		if err != nil {
			return nil, fmt.Errorf("the fault %q: %w", strings.TrimSpace(part), err)
		}
		r = append(r, fault)
	}
	return r, nil
}

// form is the syntax of a fault.
const form = "kind cluster verb resource[/subresource] [namespace/]name occurrence"

func parseFault(words []string) (Fault, error) {
	if len(words) != len(strings.Fields(form)) {
		return Fault{}, fmt.Errorf("want %q", form)
	}
	kind := Kind(words[0])
	if !slices.Contains(Kinds(), kind) {
		return Fault{}, fmt.Errorf("there is no kind %q", kind)
	}
	occurrence, err := strconv.Atoi(words[5])
	if err != nil || occurrence < 1 {
		return Fault{}, fmt.Errorf("the occurrence %q is no number from 1", words[5])
	}
	at := Point{Cluster: words[1], Verb: words[2], Occurrence: occurrence}
	at.Resource, at.Subresource, _ = strings.Cut(words[3], "/")
	if namespace, name, ok := strings.Cut(words[4], "/"); ok {
		at.Namespace, at.Name = namespace, name
	} else if words[4] != nothing {
		at.Name = words[4]
	}
	return Fault{At: at, Kind: kind}, nil
}
