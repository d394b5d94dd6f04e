package act

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/retry"
)

// TestReadIsOfTheObjectThatWasSeen checks that nothing is decided from another object of the same name.
func TestReadIsOfTheObjectThatWasSeen(t *testing.T) {
	c, _ := actor()
	c.Live = &enginetest.Cache{Has: []client.Object{fixture.Local()}}
	if answer, err := c.read(t.Context(), fixture.Held(fixture.Local())); err != nil || answer.(*corev1.ConfigMap).Data["a"] != "1" {
		t.Errorf("got %v, %v", answer, err)
	}
	c.Live = &enginetest.Cache{Has: []client.Object{fixture.Local(func(m *corev1.ConfigMap) { m.UID = "local-2" })}}
	if _, err := c.read(t.Context(), fixture.Held(fixture.Local())); !retry.IsGone(err) {
		t.Errorf("of another one: %v", err)
	}
}
