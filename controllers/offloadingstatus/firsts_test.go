package offloadingstatus

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestOnlyTheFirstTimeOfWhatWasSeenFromItsCreationCounts(t *testing.T) {
	const begun, ready = v1alpha1.OffloadingPhaseInProgress, v1alpha1.OffloadingPhaseReady
	for name, test := range map[string]struct {
		since  time.Time
		was    v1alpha1.OffloadingPhase
		phases []v1alpha1.OffloadingPhase
		change func(*v1alpha1.NamespaceOffloading)
		want   int
	}{
		"at once":                  {builder.Epoch, "", []v1alpha1.OffloadingPhase{ready}, nil, 1},
		"in the end":               {builder.Epoch, "", []v1alpha1.OffloadingPhase{begun, begun, ready}, nil, 1},
		"Ready again":              {builder.Epoch, "", []v1alpha1.OffloadingPhase{ready, begun, ready}, nil, 1},
		"made before this process": {builder.Epoch.Add(time.Hour), "", []v1alpha1.OffloadingPhase{begun, ready}, nil, 0},
		"begun by another process": {builder.Epoch, begun, []v1alpha1.OffloadingPhase{ready}, nil, 0},
		"nothing was selected":     {builder.Epoch, "", []v1alpha1.OffloadingPhase{v1alpha1.OffloadingPhaseNoClusterSelected, begun, ready}, nil, 0},
		"its spec has changed":     {builder.Epoch, "", []v1alpha1.OffloadingPhase{ready}, func(nso *v1alpha1.NamespaceOffloading) { nso.Generation = 2 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, nso, got := firsts{since: test.since}, builder.Offloading("team").Obj(), 0
			nso.Generation, nso.Status.OffloadingPhase = 1, test.was
			if test.change != nil {
				test.change(nso)
			}
			for _, phase := range test.phases {
				f.note(nso)
				nso.Status.OffloadingPhase = phase
				if f.ready(nso) {
					got++
				}
			}
			if got != test.want {
				t.Errorf("counted %d times, want %d", got, test.want)
			}
			f.forget(client.ObjectKeyFromObject(nso))
			f.before.Range(func(name, _ any) bool {
				t.Errorf("it remembers %v", name)
				return true
			})
		})
	}
}
