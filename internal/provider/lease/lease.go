package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// originInName is how many characters of the origin's hash a name has.
const originInName = 16

// Name returns the name of the Lease of an origin and a clusterID. It is the same for every manager of the two.
func Name(mark provenance.Mark) string {
	sum := sha256.Sum256([]byte(mark.Origin))
	return "spillway-" + mark.ClusterID + "-" + hex.EncodeToString(sum[:])[:originInName]
}

// generationOf returns the generation of a Lease. ok is false if it has none.
func generationOf(lease *coordinationv1.Lease) (int64, bool) {
	generation, err := strconv.ParseInt(lease.Annotations[v1alpha1.AnnotationGeneration], 10, 64)
	return generation, err == nil && generation > 0
}

// Written returns the Lease to write after a Decision to write it. now is for readers only: nothing is decided
// from it.
func Written(s Snapshot, d Decision, now time.Time) *coordinationv1.Lease {
	at := ptr.To(metav1.NewMicroTime(now))
	lease := &coordinationv1.Lease{}
	if s.Lease != nil {
		lease = s.Lease.DeepCopy()
	} else {
		lease.Namespace, lease.Name = v1alpha1.ProviderNamespace, Name(s.Mark)
		lease.Labels = s.Mark.Labels()
		if s.Account != "" {
			lease.Labels[v1alpha1.LabelAccount] = s.Account
		}
	}
	annotations := map[string]string{}
	maps.Copy(annotations, lease.Annotations)
	annotations[v1alpha1.AnnotationGeneration] = strconv.FormatInt(d.Generation, 10)
	lease.Annotations = annotations
	if ptr.Deref(lease.Spec.HolderIdentity, "") != s.Identity {
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime = ptr.To(s.Identity), at
		lease.Spec.LeaseTransitions = ptr.To(ptr.Deref(lease.Spec.LeaseTransitions, -1) + 1)
	}
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(max(1, s.Duration/time.Second))) //nolint:gosec // CheckDuration limits it to minutes.
	lease.Spec.RenewTime = at
	return lease
}

// Released returns the Lease that its holder writes to release it. It keeps its generation.
func Released(lease *coordinationv1.Lease) *coordinationv1.Lease {
	released := lease.DeepCopy()
	released.Spec.HolderIdentity = nil
	return released
}

// Abandoned returns the Lease that its holder writes to release it because the consumer was restored from a
// backup. No ClusterBinding remembers its generation, so a user must say who takes it over.
func Abandoned(lease *coordinationv1.Lease) *coordinationv1.Lease {
	abandoned := Released(lease)
	if generation, ok := generationOf(lease); ok {
		abandoned.Annotations[v1alpha1.AnnotationGeneration] = strconv.FormatInt(generation+1, 10)
	}
	return abandoned
}
