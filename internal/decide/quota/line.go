package quota

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// roll has all pods of a book.
type roll struct {
	pods  map[types.UID]*account
	named map[types.NamespacedName][]types.UID // The pods of a name: mostly one.
}

func (r *roll) enter(a *account) {
	r.pods[a.UID] = a
	r.named[a.NamespacedName] = append(r.named[a.NamespacedName], a.UID)
}

func (r *roll) strike(a *account) {
	delete(r.pods, a.UID)
	rest := slices.DeleteFunc(r.named[a.NamespacedName], func(uid types.UID) bool { return uid == a.UID })
	if r.named[a.NamespacedName] = rest; len(rest) == 0 {
		delete(r.named, a.NamespacedName)
	}
}

// line has the pods that wait.
type line struct {
	waiting []*account // All but those that count, the oldest first.
	asking  int        // How many of them ask.
	keeping []int      // How many of them keep room, by entry: all but those that wait for something else.
	kept    []Amounts  // What these request, by entry.
	changed bool       // One of them may have room that had none when settle looked last.
}

func newLine(entries int) line {
	l := line{keeping: make([]int, entries), kept: make([]Amounts, entries)}
	for i := range l.kept {
		l.kept[i] = Amounts{}
	}
	return l
}

// join lets a pod wait. of are the entries that hold for it.
func (l *line) join(a *account, of []int) {
	at, _ := slices.BinarySearchFunc(l.waiting, a, byAge)
	l.waiting = slices.Insert(l.waiting, at, a)
	// A pod that begins to keep room may be why a large one keeps none any more, and so leave room for a third.
	l.changed = l.changed || a.state == asks || a.state != elsewhere && l.asking > 0
	l.count(a, of, 1)
}

func (l *line) leave(a *account, of []int) {
	at, found := slices.BinarySearchFunc(l.waiting, a, byAge)
	if !found {
		return
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	if l.count(a, of, -1); a.state != elsewhere {
		l.touch(of)
	}
}

func (l *line) count(a *account, of []int, times int) {
	if a.state == asks {
		l.asking += times
	}
	if a.state != elsewhere {
		for _, i := range of {
			l.keeping[i] += times
			l.kept[i].plus(a.Size, int64(times))
		}
	}
}

// touch notes that entries have more or less room. That matters if they hold for a pod that waits.
func (l *line) touch(of []int) {
	l.changed = l.changed || slices.ContainsFunc(of, func(i int) bool { return l.keeping[i] > 0 })
}

// byAge compares pods by when they were created, and within a second by their names.
func byAge(a, b *account) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
