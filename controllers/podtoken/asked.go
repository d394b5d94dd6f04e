package podtoken

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/field"
)

// asked knows for which pods the engine has asked for tokens, and why they have none.
type asked struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]waiting
}

// waiting is a pod that is about to be sent, or was sent.
type waiting struct {
	uid types.UID
	// in is the namespace in the provider, until the Secret is there.
	in string
	// problem is why its tokens could not be created or renewed at the last attempt, failures how often in a row,
	// and notBefore when the next attempt may be made, whatever the provider does until then.
	problem   field.Problem
	failures  int
	notBefore time.Time
	// told is the last warning that the owner got (warning.about).
	told string
}

// of returns what is known about a pod.
func (a *asked) of(key types.NamespacedName, uid types.UID) waiting {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.pods[key]; known.uid == uid {
		return known
	}
	return waiting{uid: uid}
}

// change changes what is known about a pod, and returns what was known before.
func (a *asked) change(key types.NamespacedName, uid types.UID, change func(*waiting)) (before waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.pods[key]
	if known.uid != uid {
		known = waiting{uid: uid}
	}
	before = known
	change(&known)
	a.pods[key] = known
	return before
}

// forget drops what is known about a pod of that name, unless it is the pod with that UID. It returns the UID of
// the forgotten pod, or "".
func (a *asked) forget(key types.NamespacedName, except types.UID) types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, there := a.pods[key]
	if !there || known.uid == except {
		return ""
	}
	delete(a.pods, key)
	return known.uid
}

// in lists the pods of a local namespace. An empty name means all namespaces.
func (a *asked) in(namespace string) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []types.NamespacedName
	for key := range a.pods {
		if namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}
