package unplacedclaim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestDecide(t *testing.T) {
	const asks = "StorageClass fast has the volumeBindingMode Immediate, so no pod chooses the provider of PersistentVolumeClaim data: " +
		"set its annotation spillway.io/provider to the clusterID of a ClusterBinding; "
	eu, us := builder.Binding("eu").Obj(), builder.Binding("us").Obj()
	eu.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassStorage, Name: "fast", RemoteName: "ssd"}}
	both := []*v1alpha1.ClusterBinding{eu, us}
	for name, test := range map[string]struct {
		annotations map[string]string // In addition.
		mode        storagev1.VolumeBindingMode
		bindings    []*v1alpha1.ClusterBinding
		want        string
	}{
		"no provider":             {nil, "", both, asks + "these map the class: eu"},
		"no provider maps it":     {nil, storagev1.VolumeBindingImmediate, []*v1alpha1.ClusterBinding{us}, asks + "no ClusterBinding maps this class"},
		"a provider":              {map[string]string{v1alpha1.AnnotationProvider: "eu"}, "", both, ""},
		"a provider without it":   {map[string]string{v1alpha1.AnnotationProvider: "us"}, "", both, ""},
		"no provider of ours":     {map[string]string{v1alpha1.AnnotationProvider: "asia"}, "", both, asks + "these map the class: eu"},
		"the scheduler chooses":   {nil, storagev1.VolumeBindingWaitForFirstConsumer, both, ""},
		"the scheduler has":       {map[string]string{field.AnnotationSelectedNode: "spillway-eu"}, "", both, ""},
		"it is bound":             {map[string]string{field.AnnotationBindCompleted: "yes"}, "", both, ""},
		"somebody else's":         {map[string]string{field.AnnotationStorageProvisioner: "csi.example.com"}, "", both, ""},
		"nobody has been asked":   {map[string]string{field.AnnotationStorageProvisioner: ""}, "", both, ""},
		"a class that is unknown": {nil, "none", both, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: map[string]string{field.AnnotationStorageProvisioner: v1alpha1.StorageDriver}},
				Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("fast")}}
			for key, value := range test.annotations {
				claim.Annotations[key] = value
			}
			class := &storagev1.StorageClass{VolumeBindingMode: &test.mode}
			if test.mode == "none" {
				class = nil
			}
			got := ""
			if problem := decide(claim, class, test.bindings); problem != nil {
				got = problem.Message
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
