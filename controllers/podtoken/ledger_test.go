package podtoken

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestLedger: each pod gets its first tokens and its renewals at once. Whatever else a provider does, it causes few
// requests: for one pod, and for all of its pods together.
func TestLedger(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	var all ledgers
	l := all.of("eu", clock)
	pods := make([]types.UID, 100)
	for i := range pods {
		pods[i] = types.UID(rune('A' + i))
	}
	requests := func() (number int) {
		all.of("eu", clock) // The provider ends the connection, too.
		for _, pod := range pods {
			for l.wait(pod) == 0 && number < 1000 {
				l.requested(pod, issued{expires: clock.Now().Add(time.Hour), renews: clock.Now().Add(45 * time.Minute), tokens: map[string][]byte{"token": nil}})
				l.written(pod, "s")
				number++
			}
		}
		return number
	}
	if got := requests(); got != len(pods)+fewOfProvider {
		t.Errorf("%d requests for %d pods", got, len(pods))
	}
	minutes := 0
	for range 40 {
		clock.SetTime(clock.Now().Add(time.Minute))
		minutes += requests()
	}
	if minutes > 40*int(time.Minute/interval) || minutes == 0 {
		t.Errorf("%d requests in 40 minutes", minutes)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if got := requests(); got != len(pods)+fewOfProvider {
		t.Errorf("%d renewals of %d pods", got, len(pods))
	}
	l.forget(pods[0])
	if l.wait(pods[0]) != 0 || len(l.pods) != len(pods)-1 {
		t.Errorf("of a pod that is gone, something is left: %d", len(l.pods))
	}
	if other := all.of("us", clock); other == l || all.of("eu", clock) != l {
		t.Error("a provider should keep its ledger, and no other should have it")
	}
}

// TestUnwritten: tokens that the provider has not taken are not requested again while they are fresh, and are
// forgotten once it has taken them.
func TestUnwritten(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	l := newLedger(clock)
	l.requested("1", issued{expires: now.Add(time.Hour), renews: now.Add(45 * time.Minute), tokens: map[string][]byte{"token": []byte("t")}})
	if got := l.of("1"); !got.unwritten(now) || got.unwritten(now.Add(45*time.Minute)) {
		t.Errorf("got %v", got.renews)
	}
	l.written("1", "s")
	if got := l.of("1"); got.unwritten(now) || len(got.tokens) > 0 || got.secret != "s" {
		t.Error("a token is kept longer than needed")
	}
}
