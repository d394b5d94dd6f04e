package namespaceoffloading

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// SetFull reports which providers have refused pods of the namespace, and which of them are left out. It returns how
// long until that changes; 0: never. The admission of pods reads from here which providers it leaves out.
func SetFull(status *v1alpha1.NamespaceOffloadingStatus, nso *v1alpha1.NamespaceOffloading, full *spill.Full, now time.Time) time.Duration {
	all, again := full.Status(nso.Namespace, InTiers(status), now)
	status.Full = all
	var said []string
	for i := range all {
		if all[i].Until != nil {
			said = append(said, spill.Describe(&all[i]))
		}
	}
	if len(said) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.OffloadingFull)
		return again
	}
	conditions.Set(&status.Conditions, nso.Generation, conditions.New(v1alpha1.OffloadingFull, metav1.ConditionTrue, v1alpha1.ReasonProvidersFull, strings.Join(said, "; ")))
	return again
}

// InTiers returns the clusterIDs of the providers in all tiers.
func InTiers(status *v1alpha1.NamespaceOffloadingStatus) []string {
	var ids []string
	for _, tier := range status.Overflow {
		ids = append(ids, tier.Clusters...)
	}
	return ids
}
