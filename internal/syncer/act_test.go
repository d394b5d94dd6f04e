package syncer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRefusedDeletion is about a provider that does not let an object go: with
// a local object that is remembered, without one it is an error like any other.
func TestRefusedDeletion(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", nil)
	action := Action{Verb: Delete, Side: Remote, Object: remoteMap()}
	for name, local := range map[string]*corev1.ConfigMap{"there": localMap(), "gone": nil} {
		t.Run(name, func(t *testing.T) {
			m, _ := testMemory()
			c := &kindController[*corev1.ConfigMap]{Kind: Kind[*corev1.ConfigMap]{Name: "configmap"}, pair: &pair{clusterID: "eu"}, memory: m}
			s := wanted(local, remoteMap())
			err := c.failed(t.Context(), s, action, forbidden)
			if (err != nil) != (local == nil) {
				t.Errorf("got the error %v", err)
			}
			if local != nil && m.refusal(s.Key, version(local)) == nil {
				t.Error("the refusal is not remembered")
			}
		})
	}
}
