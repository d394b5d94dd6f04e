package namespacemap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestWithData: a remote namespace stays for the volumes that exist nowhere else, whoever has created their claims.
func TestWithData(t *testing.T) {
	claim := func(volume string, edits ...func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
		for _, edit := range edits {
			edit(&c)
		}
		return c
	}
	labelled := func(c *corev1.PersistentVolumeClaim) {
		c.Labels = map[string]string{v1alpha1.LabelVolume: v1alpha1.VolumeProvided}
	}
	ofPod := func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Controller: ptr.To(true)}}
	}
	copied := field.Hashed("", "disk")
	for name, test := range map[string]struct {
		claim corev1.PersistentVolumeClaim
		want  bool
	}{
		"sent, and bound":               {claim("pvc-1", labelled), true},
		"sent, and not bound":           {claim("", labelled), false},
		"without its label":             {claim("pvc-1"), true},
		"a copy":                        {claim(copied), false},
		"of a pod's volume, not a copy": {claim("pvc-1", ofPod), false},
	} {
		if got := len(WithData([]corev1.PersistentVolumeClaim{test.claim})) == 1; got != test.want {
			t.Errorf("%s: it counts: %t", name, got)
		}
	}
}

// TestLosesVolumes: the annotation counts only on what is being deleted. Otherwise the change of a selector would
// delete the data.
func TestLosesVolumes(t *testing.T) {
	allowed := map[string]string{v1alpha1.AnnotationLoseVolumes: v1alpha1.LoseVolumes}
	deleted := ptr.To(metav1.NewTime(builder.Epoch))
	for name, test := range map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"deleted, and allowed": {metav1.ObjectMeta{DeletionTimestamp: deleted, Annotations: allowed}, true},
		"deleted":              {metav1.ObjectMeta{DeletionTimestamp: deleted}, false},
		"allowed":              {metav1.ObjectMeta{Annotations: allowed}, false},
		"with another value":   {metav1.ObjectMeta{DeletionTimestamp: deleted, Annotations: map[string]string{v1alpha1.AnnotationLoseVolumes: strings.ToUpper(v1alpha1.LoseVolumes)}}, false},
	} {
		if got := LosesVolumes(&v1alpha1.NamespaceOffloading{ObjectMeta: test.meta}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
