package fleet

import (
	"fmt"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/provenance"
)

// What may be sent of the budget: no namespace of the consumer fills it alone, and all
// together leave room for what the provider adds, such as statuses.
const (
	namespaceShare = 4               // A quarter.
	allPercent     = int64(100 - 20) // Of the budget.
)

// share is the part of a budget that may be sent. Listing it, with what is encoded but
// not held, stays within the limit of a list.
type share struct{ namespace, all amount }

func shareOf(budget Budget) share {
	whole := amount{objects: int64(budget.Objects), memory: budget.Memory, sent: budget.Memory / listShare}
	return share{
		namespace: amount{whole.objects / namespaceShare, whole.memory / namespaceShare, whole.sent / namespaceShare},
		all:       amount{whole.objects * allPercent / 100, whole.memory * allPercent / 100, whole.sent * allPercent / 100},
	}
}

// exceeded says what would be too much once more is sent from a namespace, or "". Only
// what grows is checked: too much of one amount does not hold up another.
func (s share) exceeded(namespace string, from, all, more amount) string {
	if has, most := exceeded(from, more, s.namespace); has != "" && namespace != "" {
		return fmt.Sprintf("namespace %s has %s there, and one namespace may have %s", namespace, has, most)
	}
	if have, most := exceeded(all, more, s.all); have != "" {
		return fmt.Sprintf("all namespaces have %s there, and may have %s", have, most)
	}
	return ""
}

// exceeded returns how much is there, and how much is allowed, of the first amount that
// would be too much.
func exceeded(there, more, allowed amount) (have, most string) {
	kib := func(bytes int64) string { return fmt.Sprintf("%d KiB", bytes>>10) }
	switch {
	case more.objects > 0 && there.objects+more.objects > allowed.objects:
		return fmt.Sprintf("%d objects", there.objects), strconv.FormatInt(allowed.objects, 10)
	case more.memory > 0 && there.memory+more.memory > allowed.memory:
		return kib(there.memory) + " of what is held in memory", kib(allowed.memory)
	case more.sent > 0 && there.sent+more.sent > allowed.sent:
		return kib(there.sent) + " of content", kib(allowed.sent)
	default:
		return "", ""
	}
}

// Exceeds says why sending an object to the provider of a connection, in place of before
// (which may be nil), would be too much; "" if it is not.
func Exceeds(cl cluster.Cluster, before, after client.Object) string {
	p, ok := cl.(*connectedCluster)
	if !ok {
		return ""
	}
	more := amountOf(held(after))
	if before != nil {
		more = more.minus(amountOf(held(before)))
	}
	return p.ledger.exceeded(provenance.LocalOf(after).Namespace, more)
}

// Count is how many objects of the kind of one the provider of a connection has of a
// namespace of the consumer.
func Count(cl cluster.Cluster, object client.Object, namespace string) int {
	if p, ok := cl.(*connectedCluster); ok {
		return p.ledger.countOf(object, namespace)
	}
	return 0
}

// Sent counts the answer of a provider to a creation or a change before the caches show
// it: more may be sent until they do.
func Sent(cl cluster.Cluster, object client.Object) {
	if p, ok := cl.(*connectedCluster); ok {
		p.ledger.sent(held(object))
	}
}

// held is what the caches keep of an object.
func held(object client.Object) client.Object {
	kept, err := withoutContent(object)
	if kept, ok := kept.(client.Object); ok && err == nil {
		return kept
	}
	return object
}
