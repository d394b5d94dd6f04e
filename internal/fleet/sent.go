package fleet

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follow tells how far the cache of a kind has come: all that is in the provider up to
// the version that seen returns has been counted, if it was shown. It may be "".
func (l *ledger) follow(object client.Object, seen func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding(object).seen = seen
}

// sent counts what the cache is going to show. It knows better what it has shown.
func (l *ledger) sent(object client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, key := l.holding(object), client.ObjectKeyFromObject(object)
	if shown, known := kind.objects[key]; known && reaches(shown.version, object.GetResourceVersion()) {
		return
	}
	kind.sent[key] = struct{}{}
	l.count(object)
}

// settle forgets what was sent, and has not been shown though the cache has come past
// it: it had gone before its answer came, or in a gap of the watch. The lock is held.
func (l *ledger) settle() {
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

// reaches reports whether a version is another one, or later; false if one is unknown.
func reaches(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}
