package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// sentPod returns the remote pod of local, which must not be refused.
func sentPod(t testing.TB, local *corev1.Pod, target field.Target) *corev1.Pod {
	t.Helper()
	if refusal := accept.Refusal(local, accept.Provider{Limits: fieldtest.Generous, Classes: fieldtest.Classes}); refusal != nil {
		t.Fatal(refusal)
	}
	return ToRemote(local, target, fieldtest.Generous, fieldtest.Classes)
}
