package spill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var large = Size{{"cpu", 1500}, {"example.com/gpu", 3}, {"memory", 2 << 30}}

func stored(f *Full, now time.Time) (*v1alpha1.NamespaceOffloading, time.Duration) {
	nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}, Spec: replacing}
	all, again := f.Status("team", []string{"us", "eu"}, now)
	nso.Status.Full = all
	return nso, again
}

// TestStatus follows a provider through its refusals, with a manager that starts before each decision.
func TestStatus(t *testing.T) {
	f := &Full{}
	for i, step := range []struct {
		at      time.Duration
		refuses bool
		want    string
		again   time.Duration
	}{
		{0, true, "pods that request cpu 1500m, example.com/gpu 3, memory 2Gi or more are kept away from eu until 2026-01-02T03:05:05Z: quota", time.Minute},
		{30 * time.Second, true, "pods that request cpu 1500m, example.com/gpu 3, memory 2Gi or more are kept away from eu until 2026-01-02T03:05:05Z: quota", 30 * time.Second},
		{time.Minute, false, "eu refused pods that request cpu 1500m, example.com/gpu 3, memory 2Gi or more at 2026-01-02T03:04:05Z, and may be tried again: quota", time.Hour},
		{time.Hour, true, "pods that request cpu 1500m, example.com/gpu 3, memory 2Gi or more are kept away from eu until 2026-01-02T04:06:05Z: quota", 2 * time.Minute},
		{time.Hour - time.Second, false, "pods that request cpu 1500m, example.com/gpu 3, memory 2Gi or more are kept away from eu until 2026-01-02T04:06:05Z: quota", 2*time.Minute + time.Second},
		{2*time.Hour + 2*time.Minute, false, "", 0},
	} {
		now := start.Add(step.at)
		if step.refuses {
			f.Refused("eu", "team", large, Why{"Rejected", "quota"}, now)
		}
		f.Refused("asia", "team", large, Why{}, now) // It is in no tier.
		nso, again := stored(f, now)
		var got []string
		for i := range nso.Status.Full {
			got = append(got, Describe(&nso.Status.Full[i]))
		}
		if diff := cmp.Diff(step.want, strings.Join(got, "; ")); diff != "" || again != step.again {
			t.Errorf("step %d: again after %v, want %v (-want +got):\n%s", i, again, step.again, diff)
		}
		f = Read(nso)
	}
}

func TestStatusOfAClockThatIsSetBack(t *testing.T) {
	f := &Full{}
	f.Refused("eu", "team", large, Why{}, start.Add(24*time.Hour))
	if open, _ := f.Open("eu", "team", large, start); !open {
		t.Error("it is full for a day")
	}
	if nso, again := stored(f, start); len(nso.Status.Full) != 0 || again != 0 {
		t.Errorf("the status says %v, again after %v", nso.Status.Full, again)
	}
}

// TestLongestBackoff: the status has full seconds, and must not seem to be from a clock that was set back.
func TestLongestBackoff(t *testing.T) {
	f, now := &Full{}, start.Add(100*time.Millisecond)
	for range 7 {
		f.Refused("eu", "team", large, Why{}, now)
		now = now.Add(mostBackoff + time.Minute)
	}
	f.Refused("eu", "team", large, Why{}, now)
	nso, _ := stored(f, now)
	if open, wait := Read(nso).Open("eu", "team", large, now); open || wait < mostBackoff {
		t.Errorf("open %v, for %v", open, wait)
	}
}

// TestStatusIsBounded: the API server would refuse a longer list, and longer messages.
func TestStatusIsBounded(t *testing.T) {
	f, ids, long := &Full{}, []string{}, corev1.ResourceList{}
	for n := range 40 {
		long[corev1.ResourceName(fmt.Sprint("example.com/", n))] = resource.MustParse("1")
	}
	for n := range 40 {
		ids = append(ids, fmt.Sprintf("provider-%02d", n))
		f.Refused(ids[n], "team", SizeOfList(long), Why{"Rejected", strings.Repeat("ä", 1000)}, start.Add(time.Duration(n)*time.Second))
	}
	all, _ := f.Status("team", ids, start.Add(40*time.Second))
	if len(all) != mostEntries || all[0].Cluster != "provider-08" || len(all[0].Requests) != mostRequests || len([]rune(all[0].Message)) > mostSaid {
		t.Errorf("%d entries, from %+v", len(all), all[0])
	}
}
