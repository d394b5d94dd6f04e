package requests

import (
	"cmp"
	"maps"
	"slices"
)

// Figures are what a Counter has counted.
type Figures struct {
	Counts map[Key]Count
	// Writes is how often each object was written, or tried to.
	Writes map[Object]int
}

// Figures returns what has been counted so far.
func (c *Counter) Figures() Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Figures{maps.Clone(c.counts), maps.Clone(c.writes)}
}

// Since is what was counted after before.
func (f Figures) Since(before Figures) Figures {
	since := Figures{map[Key]Count{}, map[Object]int{}}
	for key, is := range f.Counts {
		was := before.Counts[key]
		if is != was {
			since.Counts[key] = Count{is.Requests - was.Requests, is.Failed - was.Failed, is.NoOps - was.NoOps, is.BytesSent - was.BytesSent}
		}
	}
	for object, is := range f.Writes {
		if was := before.Writes[object]; is != was {
			since.Writes[object] = is - was
		}
	}
	return since
}

// Filter chooses among what was counted.
type Filter func(Key) bool

// Writes are the requests that may change something.
func Writes(k Key) bool { return writes(k.Verb) }

// OnlyWork leaves out what goes on as time goes by.
func OnlyWork(k Key) bool { return k.Class == Work }

// Finite leaves out watches too: how many there are depends on when they end.
func Finite(k Key) bool { return k.Class == Work && k.Verb != Watch }

// Verb chooses one.
func Verb(verb string) Filter { return func(k Key) bool { return k.Verb == verb } }

// Resource chooses one, with all its subresources.
func Resource(resource string) Filter { return func(k Key) bool { return k.Resource == resource } }

// Subresource chooses one; "" is the object itself.
func Subresource(subresource string) Filter {
	return func(k Key) bool { return k.Subresource == subresource }
}

// Cluster chooses one.
func Cluster(cluster string) Filter { return func(k Key) bool { return k.Cluster == cluster } }

// Not turns a filter around.
func Not(filter Filter) Filter { return func(k Key) bool { return !filter(k) } }

// Sum adds up what all filters let pass.
func (f Figures) Sum(filters ...Filter) Count {
	var sum Count
	for key, count := range f.Counts {
		if passes(key, filters) {
			sum.Requests += count.Requests
			sum.Failed += count.Failed
			sum.NoOps += count.NoOps
			sum.BytesSent += count.BytesSent
		}
	}
	return sum
}

func passes(key Key, filters []Filter) bool {
	return !slices.ContainsFunc(filters, func(passes Filter) bool { return !passes(key) })
}

// MostWrites is the object, of those that are chosen, that was written most
// often, and how often. Of several it is the first by name.
func (f Figures) MostWrites(chosen func(Object) bool) (Object, int) {
	var most Object
	var times int
	for object, n := range f.Writes {
		if chosen(object) && (n > times || (n == times && less(object, most))) {
			most, times = object, n
		}
	}
	return most, times
}

func less(a, b Object) bool {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// Row is a line of a table.
type Row struct {
	Key
	Count
}

// Rows are the counts that all filters let pass, ordered.
func (f Figures) Rows(filters ...Filter) []Row {
	var rows []Row
	for key, count := range f.Counts {
		if passes(key, filters) {
			rows = append(rows, Row{key, count})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb))
	})
	return rows
}
