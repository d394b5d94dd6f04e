package memory

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const many = 10 * fewEnds

// lives has a provider end one object after the other, and returns how many of
// them were sent before the next one was held back.
func lives(s *Sent, namespace string, each func()) int {
	for i := range many {
		key, uid := types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}, types.UID(fmt.Sprint(i))
		if !s.MayGo(namespace) {
			return i
		}
		s.Note(key, uid)
		each()
		s.Ended(key, uid)
	}
	return many
}

func TestSent(t *testing.T) {
	m, clock := testMemory()
	if got := lives(m.Sent, "team", func() {}); got != fewEnds+1 {
		t.Errorf("%d were sent, want %d", got, fewEnds+1)
	}
	if got := lives(m.Sent, "others", func() {}); got != fewEnds+1 {
		t.Errorf("%d of another namespace were sent: it has nothing to do with the first", got)
	}
	if got := lives(m.Sent, "slow", func() { clock.Step(soonEnded) }); got != many {
		t.Errorf("%d were sent that live for a minute, want all", got)
	}
	for i := range many { // They end by themselves.
		key := types.NamespacedName{Namespace: "jobs", Name: fmt.Sprint(i)}
		m.Sent.Note(key, "uid")
		m.Forget(key)
	}
	if !m.Sent.MayGo("jobs") || len(m.Sent.objects) > 0 {
		t.Errorf("%d are remembered that are gone", len(m.Sent.objects))
	}
}

// TestBrakeOfOne has a provider end one object again and again, each time before it
// has said anything about it.
func TestBrakeOfOne(t *testing.T) {
	m, _ := testMemory()
	sent := 0
	for m.Sent.Wait("team") == 0 && sent < 10*fewEnds {
		m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "settings"}, "uid")
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
		m.Sent.Ended(types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}, "uid")
	}
	if m.Sent.Wait("team") > 0 {
		t.Error("it holds up the next")
	}
}
