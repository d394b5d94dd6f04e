package fieldtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// ClaimOf returns a claim that is bound to the volume disk, with more YAML applied.
func ClaimOf(t testing.TB, more string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := Parse[corev1.PersistentVolumeClaim](t, `
metadata: {namespace: team, name: data, uid: claim-uid, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
status: {phase: Bound}
spec: {volumeName: disk, storageClassName: fast}`)
	Merged(t, claim, more)
	return claim
}
