package requests

import (
	"cmp"
	"maps"
	"slices"
)

// Figures are the results of a Counter.
type Figures struct {
	Counts map[Key]Count
	// Writes is the number of times that each object was written, including attempts.
	Writes map[Object]int
}

// Figures returns the results so far.
func (c *Counter) Figures() Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Figures{maps.Clone(c.counts), maps.Clone(c.writes)}
}

// Since returns the results after before.
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

// Filter selects some of the results.
type Filter func(Key) bool

// Writes selects the requests that may change something.
func Writes(k Key) bool { return writes(k.Verb) }

// OnlyWork leaves out the requests that occur as time goes by.
func OnlyWork(k Key) bool { return k.Class == Work }

// Finite also leaves out watches, because their number depends on when they end.
func Finite(k Key) bool { return k.Class == Work && k.Verb != Watch }

// Verb selects one verb.
func Verb(verb string) Filter { return func(k Key) bool { return k.Verb == verb } }

// Resource selects one resource, with all its subresources.
func Resource(resource string) Filter { return func(k Key) bool { return k.Resource == resource } }

// Subresource selects one subresource; "" is the object itself.
func Subresource(subresource string) Filter {
	return func(k Key) bool { return k.Subresource == subresource }
}

// Cluster selects one cluster.
func Cluster(cluster string) Filter { return func(k Key) bool { return k.Cluster == cluster } }

// Not inverts a filter.
func Not(filter Filter) Filter { return func(k Key) bool { return !filter(k) } }

// Sum adds up the results that pass all filters.
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

// MostWrites returns the chosen object that was written most often, and how often. If there are several, it
// returns the first by name.
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

// Rows returns the counts that pass all filters, in order.
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
