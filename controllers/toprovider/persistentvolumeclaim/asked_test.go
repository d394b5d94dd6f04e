package persistentvolumeclaim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// TestIsProvidedBy: a claim asks a provider for its volume, whichever of its virtual nodes the scheduler has chosen.
func TestIsProvidedBy(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"its node":             {map[string]string{field.AnnotationSelectedNode: "spillway-eu"}, true},
		"a group of its nodes": {map[string]string{field.AnnotationSelectedNode: "spillway-eu.a-1"}, true},
		"another provider":     {map[string]string{field.AnnotationSelectedNode: "spillway-eu-a"}, false},
		"no node yet":          {nil, false},
		"the provider by name": {map[string]string{v1alpha1.AnnotationProvider: "eu"}, true},
		"it has its volume":    {map[string]string{field.AnnotationSelectedNode: "spillway-eu", field.AnnotationBindCompleted: "yes"}, false},
	} {
		claim := &metav1.ObjectMeta{Annotations: map[string]string{field.AnnotationStorageProvisioner: v1alpha1.StorageDriver}}
		for key, value := range test.annotations {
			claim.Annotations[key] = value
		}
		if got := IsProvidedBy(claim, "spillway-eu"); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
