package precondition

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// TestLockedKeeping: the patch keeps others' finalizers, even those that the shared cache does not hold.
func TestLockedKeeping(t *testing.T) {
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "settings", ResourceVersion: "7", Finalizers: []string{"example.com/a", v1alpha1.FinalizerSync + "eu"},
	}}
	after := before.DeepCopy()
	if !decide.Unprotect(after, "eu") {
		t.Fatal("there was no mark")
	}
	got, err := LockedKeeping(before).Data(after)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"$deleteFromPrimitiveList/finalizers":["sync.spillway.io/eu"],"$setElementOrder/finalizers":["example.com/a"],"resourceVersion":"7"}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestByEntry: if a map ends up empty, only the entries of before are removed.
func TestByEntry(t *testing.T) {
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "settings", ResourceVersion: "7", Labels: map[string]string{"a": "1", "b": "2"}, Annotations: map[string]string{"c": "3"},
	}}
	bare, one := before.DeepCopy(), before.DeepCopy()
	bare.Labels, bare.Annotations = nil, nil
	delete(one.Labels, "a")
	const none = `{"metadata":{"annotations":{"c":null},"labels":{"a":null,"b":null},"resourceVersion":"7"}}`
	for name, patch := range map[string]client.Patch{"merged": Locked(before), "strategic": LockedKeeping(before)} {
		for _, test := range []struct {
			after *metav1.PartialObjectMetadata
			want  string
		}{{bare, none}, {one, `{"metadata":{"labels":{"a":null},"resourceVersion":"7"}}`}} {
			if got, err := patch.Data(test.after); err != nil || string(got) != test.want {
				t.Errorf("%s: got %s, %v, want %s", name, got, err, test.want)
			}
		}
	}
}

// TestLastFinalizer: a finalizer that another binding has added meanwhile stays.
func TestLastFinalizer(t *testing.T) {
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "settings", Finalizers: []string{v1alpha1.FinalizerSync + "eu"}}}
	after := before.DeepCopy()
	after.Finalizers = nil
	got, err := ByEntry(client.StrategicMergeFrom(before), before).Data(after)
	if want := `{"metadata":{"$deleteFromPrimitiveList/finalizers":["sync.spillway.io/eu"]}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
