package syncer

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/kind"
)

// lives has a provider end one object after the other, and returns how many of
// them were sent before the brake held the next one.
func lives(c *kindController[*corev1.ConfigMap], namespace string, most int, each func()) int {
	for i := range most {
		local := fixture.Local()
		local.Namespace, local.Name, local.UID = namespace, fmt.Sprintf("settings-%d", i), types.UID(fmt.Sprint(i))
		s := fixture.Wanted(local, nil)
		s.Key = client.ObjectKeyFromObject(local)
		create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
		if !c.mayGo(s, create) {
			return i
		}
		c.brake(s, create)
		each()
		c.brake(s, decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Object: local})
	}
	return most
}

func TestBrake(t *testing.T) {
	m, clock := testMemory()
	ended := true
	c := &kindController[*corev1.ConfigMap]{
		Kind: kind.Kind[*corev1.ConfigMap]{Ended: func(*corev1.ConfigMap, decide.Object) bool { return ended }},
		pair: &pair{}, memory: m,
	}
	const many = 10 * fewEnds
	at := func(namespace string) int { return lives(c, namespace, many, func() {}) }
	if got := at("team"); got != fewEnds+1 {
		t.Errorf("%d were sent, want %d", got, fewEnds+1)
	}
	if got := at("others"); got != fewEnds+1 {
		t.Errorf("%d of another namespace were sent: it has nothing to do with the first", got)
	}
	if got := lives(c, "slow", many, func() { clock.Step(soonEnded) }); got != many {
		t.Errorf("%d were sent that live for a minute, want all", got)
	}
	ended = false
	if got := at("jobs"); got != many {
		t.Errorf("%d were sent that have ended by themselves, want all", got)
	}
	ended = true
	if len(m.sent) != many { // Of the jobs, which have ended by themselves and are not gone yet.
		t.Errorf("%d are remembered", len(m.sent))
	}
	for key := range m.sent {
		m.forget(key)
	}
	if len(m.sent) > 0 {
		t.Errorf("%d are remembered that are gone", len(m.sent))
	}
}

// TestBrakeOfOne has a provider end one object again and again, each time before it
// has said anything about it.
func TestBrakeOfOne(t *testing.T) {
	m, _ := testMemory()
	sent := 0
	for m.brake.Wait("team") == 0 && sent < 10*fewEnds {
		m.noteSent(types.NamespacedName{Namespace: "team", Name: "settings"}, "uid")
		sent++
	}
	if want := fewEnds + 2; sent != want {
		t.Errorf("it was sent %d times, want %d", sent, want)
	}
}

// TestWhatAnEarlierConnectionHasSent counts for nothing when it is ended.
func TestWhatAnEarlierConnectionHasSent(t *testing.T) {
	m, _ := testMemory()
	for i := range 10 * fewEnds {
		m.noteEnded(types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}, "uid")
	}
	if m.brake.Wait("team") > 0 {
		t.Error("it holds up the next")
	}
}
