package spill

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestRoom: the time without room counts until it is After ago, in parts.
func TestRoom(t *testing.T) {
	small, large := Size{{"cpu", 1}}, Size{{"cpu", 2}}
	var rooms Rooms
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	observe := func(minutes int, free Size) {
		rooms.Observe(map[string]Size{"eu": free}, 8*time.Minute, at(minutes))
	}
	want := func(minutes int, size Size, want time.Duration) {
		t.Helper()
		if got := rooms.Wait("eu", size, at(minutes)); got != want {
			t.Errorf("after %d minutes: %v, want %v", minutes, got, want)
		}
	}
	want(0, small, -1)
	observe(0, large)
	want(0, small, 8*time.Minute)
	observe(2, small)
	observe(3, large)
	want(3, small, 5*time.Minute)
	want(3, large, 9*time.Minute) // The part that began with less counts until nine have passed.
	want(8, small, 0)
	want(11, large, time.Minute)
	want(12, large, 0)
	observe(13, nil)
	want(13, small, -1)
	rooms.Observe(nil, 8*time.Minute, at(14))
	want(20, small, -1)
}

// TestRoomForAnotherTime: what was observed counts when the time changes.
func TestRoomForAnotherTime(t *testing.T) {
	small, large := Size{{"cpu", 1}}, Size{{"cpu", 2}}
	for name, test := range map[string]struct {
		after        time.Duration
		small, large time.Duration // How long it takes until there has been room.
	}{
		"the same":         {8 * time.Minute, 0, 8 * time.Minute},
		"twice as long":    {16 * time.Minute, 8 * time.Minute, 16 * time.Minute},
		"half as long":     {4 * time.Minute, 0, 4 * time.Minute},
		"much shorter":     {time.Minute, 0, time.Minute},
		"hardly different": {8*time.Minute + time.Second, time.Second, 8*time.Minute + 2*time.Second},
	} {
		var rooms Rooms
		for minutes, free := range []Size{large, large, large, large, large, large, large, large, small, large} { // One a minute.
			rooms.Observe(map[string]Size{"eu": free}, 8*time.Minute, start.Add(time.Duration(minutes)*time.Minute))
		}
		now := start.Add(10 * time.Minute)
		rooms.Observe(map[string]Size{"eu": large}, test.after, now)
		if got := rooms.Wait("eu", small, now); got != test.small {
			t.Errorf("%s: a small pod returns after %v, want %v", name, got, test.small)
		}
		if got := rooms.Wait("eu", large, now); got != test.large {
			t.Errorf("%s: a large pod returns after %v, want %v", name, got, test.large)
		}
	}
}

// TestReturned: a return fails once, if the tier is needed again soon, or the successor does not become Ready in time.
func TestReturned(t *testing.T) {
	none := Returned{}
	first := none.Next(2, "web-1", "web", start)
	second := start.Add(time.Second)
	soon, late := start.Add(time.Minute), start.Add(time.Hour)
	observe := func(r Returned, opened Opened, now time.Time, successors ...Successor) Returned {
		return r.Observe([]Opened{opened}, successors, three, time.Minute, now)
	}
	as := func(settled, failed bool, failures int32) Returned {
		r := first
		r.Settled, r.Failed, r.Failures = settled, failed, failures
		return r
	}
	four := as(true, false, 4)
	for name, test := range map[string]struct{ got, want Returned }{
		"nothing returned":                {observe(none, Opened{{2, soon}}, soon), none},
		"the successor is not seen":       {observe(first, nil, second), first},
		"it starts":                       {observe(first, nil, second, Successor{0, false}), first},
		"it runs":                         {observe(first, nil, second, Successor{1, true}), as(true, false, 0)},
		"it does not run":                 {observe(first, nil, late, Successor{0, false}), as(false, true, 1)},
		"it is where the pod was":         {observe(first, nil, second, Successor{2, true}), as(false, true, 1)},
		"an earlier tier is opened":       {observe(first, Opened{{1, soon}}, soon), first},
		"the tier was opened before":      {observe(first, Opened{{2, start.Add(-time.Second)}}, soon), first},
		"it is opened much later":         {observe(as(true, false, 0), Opened{{2, late}}, late), as(true, false, 0)},
		"it is opened soon":               {observe(first, Opened{{1, start}, {2, soon}}, soon), as(false, true, 1)},
		"that counts once":                {observe(as(true, true, 1), Opened{{2, soon}}, soon), as(true, true, 1)},
		"no more than four count":         {observe(four, Opened{{2, soon}}, soon), as(true, true, 4)},
		"the next one after a failure":    {as(false, true, 1).Next(2, "web-1", "web", start), as(false, false, 1)},
		"the next one after none":         {as(true, false, 1).Next(2, "web-1", "web", start), first},
		"restored, in time":               {first.Restored(three, soon), first},
		"restored, when its time is over": {first.Restored(three, late), as(true, false, 0)},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	later := none.Next(2, "web-1", "web", second.Add(-time.Millisecond))
	if !observe(later, Opened{{2, start}}, soon).Failed {
		t.Error("a tier that was opened in the second of the return does not count")
	}
	if got := four.Patience(time.Minute); got != 16*time.Minute {
		t.Errorf("after four failures it is %v", got)
	}
}

func TestRequests(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Ki"), "example.com/none": resource.MustParse("0"),
	}}}}}}
	size := InUse(pod)
	if diff := cmp.Diff(Size{{"cpu", 1500}, {"memory", 1024}, {"pods", 1}}, size); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Size{{"cpu", 500}, {"pods", 9}}, (Size{{"cpu", 2000}, {"memory", 1000}, {"pods", 10}}).Minus(size)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Size{{"cpu", 2000}, {"gpu", 1}, {"memory", 1024}, {"pods", 1}}, Largest([]Size{size, {{"cpu", 2000}, {"gpu", 1}}})); diff != "" {
		t.Errorf("the largest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Size{{"cpu", 3000}, {"memory", 2048}, {"pods", 2}}, size.Plus(size)); diff != "" {
		t.Errorf("the sum (-want +got):\n%s", diff)
	}
	if pod.Status.Phase = corev1.PodFailed; InUse(pod) != nil {
		t.Error("a pod that has ended requests something")
	}
}
