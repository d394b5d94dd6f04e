package budget

import (
	"fmt"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field"
)

// How much of the budget may be sent. No namespace of the consumer fills it alone. All together leave room for
// what the provider adds, such as statuses.
const (
	namespaceShare = 4               // A quarter.
	allPercent     = int64(100 - 20) // Of the budget.
)

// share is the part of a budget that may be sent. A list of it, including content that is encoded but not held,
// stays within the limit of a list.
type share struct{ namespace, all amount }

func shareOf(budget Budget) share {
	whole := amount{objects: int64(budget.Objects), memory: budget.Memory, sent: budget.ListBytes()}
	return share{
		namespace: amount{whole.objects / namespaceShare, whole.memory / namespaceShare, whole.sent / namespaceShare},
		all:       amount{whole.objects * allPercent / 100, whole.memory * allPercent / 100, whole.sent * allPercent / 100},
	}
}

// exceeded says what would exceed the share if a namespace sends more, or "". It only checks amounts that grow:
// too much of one amount does not block another.
func (s share) exceeded(namespace string, from, all, more amount) string {
	if has, most := exceeded(from, more, s.namespace); has != "" && namespace != "" {
		return fmt.Sprintf("namespace %s has %s there, and the limit for a namespace is %s", namespace, has, most)
	}
	if have, most := exceeded(all, more, s.all); have != "" {
		return fmt.Sprintf("all namespaces together have %s there, and the limit is %s", have, most)
	}
	return ""
}

// exceeded returns how much there is, and how much is allowed, of the first amount that would exceed its limit.
func exceeded(there, more, allowed amount) (have, most string) {
	kib := func(bytes int64) string { return fmt.Sprintf("%d KiB", bytes>>10) }
	switch {
	case more.objects > 0 && there.objects+more.objects > allowed.objects:
		return fmt.Sprintf("%d objects", there.objects), strconv.FormatInt(allowed.objects, 10)
	case more.memory > 0 && there.memory+more.memory > allowed.memory:
		return kib(there.memory) + " held in memory", kib(allowed.memory)
	case more.sent > 0 && there.sent+more.sent > allowed.sent:
		return kib(there.sent) + " of content", kib(allowed.sent)
	default:
		return "", ""
	}
}

// trimmed returns what the caches keep of an object.
func trimmed(object client.Object) client.Object {
	kept, err := WithoutContent(object)
	if kept, ok := kept.(client.Object); ok && err == nil {
		return kept
	}
	return object
}

// WithoutContent drops what nobody reads in a cache: managed fields, and the content of copies. A digest
// replaces the content, and shows whether a copy still has what Spillway sent.
func WithoutContent(obj any) (any, error) {
	if object, ok := obj.(client.Object); ok && len(object.GetManagedFields()) > 0 {
		object.SetManagedFields(nil)
	}
	return field.WithoutContent(obj), nil
}
