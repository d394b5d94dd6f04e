package podevent

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// TestCreationsAreBounded checks that a provider cannot cause endless events by warning about ever new objects,
// although each object may have events at once.
func TestCreationsAreBounded(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := &reconciler{
		Connection: engine.Connection{Mark: provenance.Mark{ClusterID: "eu"}}, consumer: fake.NewClientBuilder().Build(), local: ownwrites.New(&held{}, clock), clock: clock,
		memory: &memory{clock: clock}, created: throttle.NewAllowance[string](2, time.Second, clock),
	}
	for i := range 3 {
		name := fmt.Sprint("event-", i)
		written := r.memory.of(types.UID(name))
		if wait := r.wait(written, name, true, false); (wait > 0) != (i == 2) {
			t.Errorf("the event of object %d waits for %s", i, wait)
		}
		if i == 2 {
			break
		}
		if _, err := r.act(t.Context(), types.UID(name), podevent.Plan{Create: []*corev1.Event{{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if wait := r.wait(r.memory.of("normal"), "normal", true, true); wait > 0 {
		t.Errorf("a normal event waits for %s, because of warnings", wait)
	}
	normal := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "normal"}, Type: corev1.EventTypeNormal}
	if _, err := r.act(t.Context(), "normal", podevent.Plan{Create: []*corev1.Event{normal}}); err != nil {
		t.Fatal(err)
	}
	if wait := r.created.Wait("eu"); wait > time.Second {
		t.Errorf("warnings wait for %s, because of normal events", wait)
	}
	if wait := r.wait(r.memory.of("shown"), "shown", false, false); wait > 0 {
		t.Errorf("an event that is shown waits for %s", wait)
	}
}
