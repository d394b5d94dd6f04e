package budget

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow registers how to ask which version the cache of a kind has read. All objects up to the version that
// seen returns are counted. seen may return "".
func (l *Ledger) Follow(object client.Object, seen func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding(object).seen = seen
}

// Sent counts the provider's answer to a creation or a change before the cache shows it, because more may be
// sent until then. It ignores an answer that the cache has already shown.
func (l *Ledger) Sent(object client.Object) {
	object = trimmed(object)
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, key := l.holding(object), client.ObjectKeyFromObject(object)
	if shown, known := kind.objects[key]; known && reaches(shown.version, object.GetResourceVersion()) {
		return
	}
	kind.sent[key] = struct{}{}
	l.count(object)
}

// settle forgets sent objects that the cache has passed without showing them. They were deleted before the
// answer came, or in a gap of the watch. The lock must be held.
func (l *Ledger) settle() {
	for _, kind := range l.kinds {
		if len(kind.sent) == 0 || kind.seen == nil {
			continue
		}
		seen := kind.seen()
		for key := range kind.sent {
			if was := kind.objects[key]; reaches(seen, was.version) {
				delete(kind.objects, key)
				delete(kind.sent, key)
				l.subtract(kind, was)
			}
		}
	}
}

// reaches reports whether a version is equal to or later than the other. It is false if either is unknown.
func reaches(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}
