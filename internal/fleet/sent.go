package fleet

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follow notes how to ask how far the cache of a kind has come: everything shown up to
// the version that seen returns is counted. seen may return "".
func (l *ledger) follow(object client.Object, seen func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding(object).seen = seen
}

// sent counts an object that the cache has yet to show; an object shown already is
// counted better.
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

// settle forgets sent objects that the cache has passed without showing them: they were
// gone before their answer came, or in a gap of the watch. The lock is held.
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

// reaches reports whether a version is the other one or later; false if either is
// unknown.
func reaches(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}
