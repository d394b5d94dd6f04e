package precondition

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
)

// TestLockedKeeping alone: even those that the catalogue does not
// hold.
func TestLockedKeeping(t *testing.T) {
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "settings", ResourceVersion: "7", Finalizers: []string{"example.com/a", v1alpha1.FinalizerSync + "eu"},
	}}
	after := before.DeepCopy()
	if !decide.Unpin(after, "eu") {
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
