package fleet

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/budget"
)

// marked creates objects in the provider with the mark of a binding.
func marked(t *testing.T, clusterID string, number int, change func(*corev1.ConfigMap)) {
	t.Helper()
	c, err := client.New(provider, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range number {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("%s-%d", clusterID, i), Labels: provenance.Mark{Origin: "consumer", ClusterID: clusterID}.Labels(),
		}}
		change(object)
		temporary(t, c, object)
	}
}

// TestContentIsNotHeld has copies in the provider with more content than the budget: 12
// MiB for a budget of eight.
func TestContentIsNotHeld(t *testing.T) {
	f, _ := startFleetWith(t, Kind{Object: &corev1.ConfigMap{}})
	marked(t, "content", 16, func(object *corev1.ConfigMap) { object.BinaryData = map[string][]byte{"k": make([]byte, 750_000)} })
	content := target("content", "1", providerUID)
	content.Budget = budget.Budget{Memory: 8 << 20}
	f.Connect(content)
	eventually(t, f, "content", "is connected, for it holds none of it", connected)
	cl, err := f.Get("content")
	if err != nil {
		t.Fatal(err)
	}
	var held corev1.ConfigMapList
	if err := cl.GetCache().List(t.Context(), &held); err != nil {
		t.Fatal(err)
	}
	for i := range held.Items {
		if size := held.Items[i].Size(); size > 2000 || field.ContentSize(&held.Items[i]) < 750_000 {
			t.Errorf("%s takes %d bytes, and represents %d", held.Items[i].Name, size, field.ContentSize(&held.Items[i]))
		}
	}
	if len(held.Items) != 16 {
		t.Errorf("there are %d", len(held.Items))
	}
}

// TestTooLarge has more in the provider than the budget: 12 MiB of annotations for a
// budget of eight. A watch reads it, which no limit on lists catches.
func TestTooLarge(t *testing.T) {
	f, _ := startFleetWith(t, Kind{Object: &corev1.ConfigMap{}})
	marked(t, "large", 50, func(object *corev1.ConfigMap) {
		object.Annotations = map[string]string{"example.com/large": strings.Repeat("x", 250_000)}
	})
	large := target("large", "1", providerUID)
	large.Budget = budget.Budget{Memory: 8 << 20}
	f.Connect(large)
	state := eventually(t, f, "large", "is refused", refusedFor(v1alpha1.ReasonTooLarge))
	if !strings.Contains(state.Message, "8 MiB of memory, mostly of kind ConfigMap") || !strings.Contains(state.Message, "spec.budget.memory") {
		t.Errorf("the message is %q", state.Message)
	}
	large.Budget = budget.Budget{Memory: 64 << 20}
	f.Connect(large)
	eventually(t, f, "large", "is connected with a larger budget", connected)
}

// TestTheLedgerFollowsTheCaches of a real connection.
func TestTheLedgerFollowsTheCaches(t *testing.T) {
	c := admin(t)
	f, _ := startFleetWith(t, Kind{Object: &corev1.ConfigMap{}})
	f.Connect(target("follows", "1", providerUID))
	eventually(t, f, "follows", "is connected", connected)
	provider, err := f.Get("follows")
	if err != nil {
		t.Fatal(err)
	}
	object := func(name string) *corev1.ConfigMap { // Of a namespace of that name.
		mark := provenance.Mark{Origin: "consumer", ClusterID: "follows"}
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: mark.Labels(),
			Annotations: map[string]string{v1alpha1.AnnotationLocalNamespace: name}}}
	}
	gone := object("follows-gone")
	if err := c.Create(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), gone, client.Preconditions{UID: &gone.UID}); err != nil {
		t.Fatal(err)
	}
	stays := object("follows-stays")
	temporary(t, c, stays)
	provider.Budget.Sent(gone)
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return provider.Budget.Count(stays, stays.Name) == 1 && provider.Budget.Count(gone, gone.Name) == 0, nil
	})
	if err != nil {
		t.Errorf("what has gone is counted still, or what is there is not: %v", err)
	}
}
