package inventory

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
)

// shared is a shared cache with the metadata of some objects.
type shared struct {
	cache.Cache
	items []metav1.PartialObjectMetadata
}

func (s shared) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if into, ok := list.(*metav1.PartialObjectMetadataList); ok && into.Kind == "PersistentVolumeList" {
		into.Items = s.items
	}
	return nil
}

// TestVolumes: only volumes that stand for one in that provider count, also if they have lost its label.
func TestVolumes(t *testing.T) {
	const uid = "7b0a3f0e-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
	volume := func(name string, annotations ...string) metav1.PartialObjectMetadata {
		obj := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, key := range annotations {
			metav1.SetMetaDataAnnotation(&obj.ObjectMeta, key, "team-eu/data")
		}
		return obj
	}
	r := New(&views.Views{SharedCache: shared{items: []metav1.PartialObjectMetadata{
		volume("disk"), volume("spillway-eu-"+uid, v1alpha1.AnnotationRemoteClaim), volume("spillway-eu-west-"+uid, v1alpha1.AnnotationRemoteClaim),
		volume("spillway-us-"+uid, v1alpha1.AnnotationRemoteClaim), volume("spillway-eu-0" + uid[1:]),
	}}})
	got, err := Volumes(t.Context(), r, "eu")
	if diff := cmp.Diff([]string{"spillway-eu-" + uid}, got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
	for namespace, want := range map[string][]string{"team-eu": {"data"}, "team": nil} {
		got, err := RemoteClaims(t.Context(), r, "eu", namespace)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got)\n%s", namespace, err, diff)
		}
	}
}
