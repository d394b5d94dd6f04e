package podtoken

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func podOf(uid types.UID, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: uid}, Status: corev1.PodStatus{Phase: phase}}
}

// secretOf is a Secret with the tokens of the pod with that UID, which renews and expires after these durations.
func secretOf(uid types.UID, namespace string, renews, expires time.Duration) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: field.TokenSecretName(uid), Annotations: map[string]string{
		v1alpha1.AnnotationLocalUID:     string(uid),
		v1alpha1.AnnotationTokenRenews:  now.Add(renews).Format(time.RFC3339),
		v1alpha1.AnnotationTokenExpires: now.Add(expires).Format(time.RFC3339),
	}}}
}

func TestDecide(t *testing.T) {
	api := []token.Wanted{{Seconds: 3600}}
	fresh, due := secretOf("1", "home", 40*time.Minute, 50*time.Minute), secretOf("1", "home", -time.Second, 10*time.Minute)
	over := secretOf("1", "home", -time.Hour, -time.Second)
	going := fresh.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: now}
	unreadable := fresh.DeepCopy()
	unreadable.Annotations[v1alpha1.AnnotationTokenRenews] = "soon"
	eternal := fresh.DeepCopy()
	eternal.Annotations[v1alpha1.AnnotationTokenExpires] = now.Add(24 * time.Hour).Format(time.RFC3339)
	web := podOf("1", corev1.PodRunning)
	held := func(all ...*corev1.Secret) []*corev1.Secret { return all }
	for name, test := range map[string]struct {
		is   snapshot
		want plan
	}{
		"nobody has asked":                    {snapshot{Pod: web, Granted: api}, plan{}},
		"the engine asks":                     {snapshot{Pod: web, Granted: api, Asked: "home"}, plan{Issue: true, In: "home"}},
		"the engine asks, no longer listed":   {snapshot{Pod: web, Asked: "home"}, plan{}},
		"somebody deleted it while it runs":   {snapshot{Pod: web, Granted: api, Runs: "home"}, plan{Issue: true, In: "home"}},
		"somebody is deleting it":             {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(going)}, plan{}},
		"found again after a fail-over":       {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(fresh)}, plan{Again: 40 * time.Minute}},
		"it is time":                          {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(due)}, plan{Issue: true, In: "home", Before: due}},
		"it is time, and it has expired":      {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(over)}, plan{Issue: true, In: "home", Before: over}},
		"it is time, but not sent":            {snapshot{Pod: web, Granted: api, Asked: "home", Held: held(due)}, plan{Again: 10 * time.Minute}},
		"expired, but not sent":               {snapshot{Pod: web, Granted: api, Asked: "home", Held: held(over)}, plan{Issue: true, In: "home", Before: over}},
		"expired, and not to be sent":         {snapshot{Pod: web, Granted: api, Held: held(over)}, plan{Delete: held(over)}},
		"before the pod is, in a new process": {snapshot{Pod: web, Granted: api, Held: held(fresh)}, plan{Again: 50 * time.Minute}},
		"no longer listed":                    {snapshot{Pod: web, Runs: "home", Held: held(due)}, plan{}},
		"the pod is gone":                     {snapshot{Held: held(fresh)}, plan{Delete: held(fresh)}},
		"the pod is gone, so is the Secret":   {snapshot{Held: held(going)}, plan{}},
		"the pod has ended":                   {snapshot{Pod: podOf("1", corev1.PodFailed), Granted: api, Runs: "home", Held: held(fresh)}, plan{Delete: held(fresh)}},
		"of an earlier pod":                   {snapshot{Pod: podOf("2", ""), Granted: api, Asked: "home", Held: held(fresh)}, plan{Delete: held(fresh), Issue: true, In: "home"}},
		"in another namespace":                {snapshot{Pod: web, Granted: api, Asked: "mount", Held: held(fresh)}, plan{Delete: held(fresh), Issue: true, In: "mount"}},
		"the provider wrote no time":          {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(unreadable)}, plan{Issue: true, In: "home", Before: unreadable}},
		"the provider wrote a day":            {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(eternal)}, plan{Issue: true, In: "home", Before: eternal}},
	} {
		t.Run(name, func(t *testing.T) {
			test.is.Now = now
			if diff := cmp.Diff(test.want, decide(test.is)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRenewal: pods that were created together renew their tokens at different times, and all of them before 80 %
// of the life is over.
func TestRenewal(t *testing.T) {
	times := map[time.Duration]bool{}
	for _, uid := range []types.UID{"a", "b", "c", "d", "e", "f", "g", "h"} {
		after := renewal(uid, now, now.Add(time.Hour)).Sub(now)
		if after < 42*time.Minute || after > 48*time.Minute {
			t.Errorf("%s is renewed after %s", uid, after)
		}
		times[after] = true
	}
	if len(times) < 4 {
		t.Errorf("all are renewed together: %v", times)
	}
}

func TestIsLate(t *testing.T) {
	for renews, want := range map[time.Duration]bool{time.Minute: false, -time.Second: false, -6 * time.Minute: true} {
		if got := isLate(secretOf("1", "home", renews, renews+12*time.Minute), now); got != want {
			t.Errorf("renewal due %s from now: late is %v", renews, got)
		}
	}
}

func TestAfter(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: firstRetry, 1: 2 * firstRetry, 3: 8 * firstRetry, 100: mostRetry} {
		if got := after(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}
