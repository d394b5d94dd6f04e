package offloadingstatus

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// firsts has the offloadings that this process observes from their creation until they are Ready. For others,
// the duration is unknown: a manager may have been away meanwhile, or they may have been Ready before.
type firsts struct {
	// since is when this process started.
	since time.Time

	before sync.Map // Their UIDs, by name.
}

// note remembers an offloading about which nothing has been reported yet.
func (f *firsts) note(nso *v1alpha1.NamespaceOffloading) {
	if nso.Status.OffloadingPhase != "" || nso.CreationTimestamp.Time.Before(f.since) {
		return
	}
	f.before.Store(client.ObjectKeyFromObject(nso), nso.UID)
}

// ready reports, once, whether a noted offloading is Ready with the spec that it was created with. An
// offloading that has no cluster to wait for does not count.
func (f *firsts) ready(nso *v1alpha1.NamespaceOffloading) bool {
	phase := nso.Status.OffloadingPhase
	if phase == v1alpha1.OffloadingPhaseInProgress {
		return false
	}
	uid, noted := f.before.LoadAndDelete(client.ObjectKeyFromObject(nso))
	return noted && uid == nso.UID && phase == v1alpha1.OffloadingPhaseReady && nso.Generation == 1
}

func (f *firsts) forget(key types.NamespacedName) { f.before.Delete(key) }
