package podtoken

import (
	"strings"
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
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: field.TokenSecretName(uid), UID: "s", Annotations: map[string]string{
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
	forged, stripped := secretOf("1", "theirs", 40*time.Minute, 50*time.Minute), fresh.DeepCopy()
	stripped.Annotations = map[string]string{v1alpha1.AnnotationLocalUID: "1"}
	known := issued{expires: now.Add(40 * time.Minute), renews: now.Add(30 * time.Minute), secret: "s"}
	unwritten := issued{expires: known.expires, renews: known.renews, tokens: map[string][]byte{"token": []byte("t")}}
	web := podOf("1", corev1.PodRunning)
	held := func(all ...*corev1.Secret) []*corev1.Secret { return all }
	for name, test := range map[string]struct {
		is   snapshot
		want plan
	}{
		"nobody has asked":                      {snapshot{Pod: web, Granted: api}, plan{}},
		"the engine asks":                       {snapshot{Pod: web, Granted: api, Asked: "home"}, plan{Issue: true, In: "home"}},
		"the engine asks, no longer listed":     {snapshot{Pod: web, Asked: "home"}, plan{}},
		"somebody deleted it while it runs":     {snapshot{Pod: web, Granted: api, Runs: "home"}, plan{Issue: true, In: "home"}},
		"somebody is deleting it":               {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(going)}, plan{}},
		"found again after a fail-over":         {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(fresh)}, plan{Again: 40 * time.Minute}},
		"it is time":                            {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(due)}, plan{Issue: true, In: "home", Before: due}},
		"it is time, and it has expired":        {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(over)}, plan{Issue: true, In: "home", Before: over}},
		"it is time, and it is about to go":     {snapshot{Pod: web, Granted: api, Asked: "home", Held: held(due)}, plan{Issue: true, In: "home", Before: due}},
		"it is time, and nobody sends it":       {snapshot{Pod: web, Granted: api, Held: held(due)}, plan{Again: 10 * time.Minute}},
		"expired, but not sent":                 {snapshot{Pod: web, Granted: api, Asked: "home", Held: held(over)}, plan{Issue: true, In: "home", Before: over}},
		"expired, and not to be sent":           {snapshot{Pod: web, Granted: api, Held: held(over)}, plan{Delete: held(over)}},
		"before the pod is, in a new process":   {snapshot{Pod: web, Granted: api, Held: held(fresh)}, plan{Again: 50 * time.Minute}},
		"no longer listed":                      {snapshot{Pod: web, Runs: "home", Held: held(due)}, plan{}},
		"the pod is gone":                       {snapshot{Held: held(fresh)}, plan{Delete: held(fresh)}},
		"the pod is gone, so is the Secret":     {snapshot{Held: held(going)}, plan{}},
		"the pod has ended":                     {snapshot{Pod: podOf("1", corev1.PodFailed), Granted: api, Runs: "home", Held: held(fresh)}, plan{Delete: held(fresh)}},
		"of an earlier pod":                     {snapshot{Pod: podOf("2", ""), Granted: api, Asked: "home", Held: held(fresh)}, plan{Delete: held(fresh), Issue: true, In: "home"}},
		"in another namespace":                  {snapshot{Pod: web, Granted: api, Asked: "mount", Held: held(fresh)}, plan{Delete: held(fresh), Issue: true, In: "mount"}},
		"the provider wrote no time":            {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(unreadable)}, plan{Issue: true, In: "home", Before: unreadable}},
		"a forged one elsewhere":                {snapshot{Pod: web, Granted: api, Held: held(forged, fresh)}, plan{Again: 50 * time.Minute}},
		"it is gone, and a forged one is there": {snapshot{Held: held(forged, fresh)}, plan{Delete: held(fresh)}},
		"where the pod may be is not known":     {snapshot{Held: held(fresh), Unknown: true}, plan{}},
		"the provider took the times away":      {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(stripped), Issued: known}, plan{Again: 30 * time.Minute}},
		"the provider wrote that it is time":    {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(due), Issued: known}, plan{Again: 30 * time.Minute}},
		"another Secret of that name":           {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(due), Issued: issued{secret: "other"}}, plan{Issue: true, In: "home", Before: due}},
		"what was requested is not written":     {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(fresh), Issued: unwritten}, plan{Issue: true, In: "home", Before: fresh}},
		"the provider wrote a day":              {snapshot{Pod: web, Granted: api, Runs: "home", Held: held(eternal)}, plan{Issue: true, In: "home", Before: eternal}},
	} {
		t.Run(name, func(t *testing.T) {
			test.is.Now, test.is.Places = now, []string{"home", "mount"}
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

// TestIsRemoteOf: tokens go where the pod runs, and not where somebody in the provider says that it does.
func TestIsRemoteOf(t *testing.T) {
	local, sent := podOf("1", corev1.PodRunning), podOf("1", corev1.PodRunning)
	sent.Annotations = map[string]string{v1alpha1.AnnotationRemoteUID: "there", v1alpha1.AnnotationRemoteFor: "1"}
	earlier := sent.DeepCopy()
	earlier.Annotations[v1alpha1.AnnotationRemoteFor] = "0"
	for name, test := range map[string]struct {
		local  *corev1.Pod
		change func(*corev1.Pod)
		want   bool
	}{
		"it was just created":             {local, func(*corev1.Pod) {}, true},
		"its UID is known":                {sent, func(*corev1.Pod) {}, true},
		"the UID is of an earlier pod's":  {earlier, func(remote *corev1.Pod) { remote.UID = "new" }, true},
		"somebody has replaced it":        {sent, func(remote *corev1.Pod) { remote.UID = "forged" }, false},
		"it is for an earlier pod":        {local, func(remote *corev1.Pod) { remote.Annotations[v1alpha1.AnnotationLocalUID] = "0" }, false},
		"it is for another pod":           {local, func(remote *corev1.Pod) { remote.Annotations[v1alpha1.AnnotationLocalName] = "api" }, false},
		"it mounts no tokens":             {local, func(remote *corev1.Pod) { remote.Spec.Volumes = nil }, false},
		"it mounts those of another pod":  {local, func(remote *corev1.Pod) { remote.Spec.Volumes[0].Projected.Sources[0].Secret.Name += "1" }, false},
		"it is of a pod in another place": {local, func(remote *corev1.Pod) { remote.Annotations[v1alpha1.AnnotationLocalNamespace] = "x" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			remote := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "there", Annotations: map[string]string{
				v1alpha1.AnnotationLocalNamespace: "team", v1alpha1.AnnotationLocalName: "web", v1alpha1.AnnotationLocalUID: "1",
			}}}
			remote.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: field.TokenSecretName("1")}}}},
			}}}}
			test.change(remote)
			if got := isRemoteOf(remote, test.local); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestWarning: the owner of a running pod learns that its tokens are gone, or should have been renewed and end soon.
func TestWarning(t *testing.T) {
	due := func(renews time.Duration) *corev1.Secret { return secretOf("1", "home", renews, renews+12*time.Minute) }
	for name, test := range map[string]struct {
		runs  string
		plan  plan
		want  string
		again time.Duration
	}{
		"its tokens are valid":       {"home", plan{Again: time.Hour}, "", 0},
		"it is time":                 {"home", plan{Issue: true, Before: due(-time.Second)}, "", 3*time.Minute - time.Second},
		"it is late":                 {"home", plan{Issue: true, Before: due(-6 * time.Minute)}, "end at 2026-01-02T03:10:05Z", 0},
		"it is late, but never sent": {"", plan{Issue: true, Before: due(-6 * time.Minute)}, "", 0},
		"its Secret is gone":         {"home", plan{Issue: true}, "has lost the Secret", 0},
		"it is about to be sent":     {"", plan{Issue: true}, "", 0},
	} {
		got, again := warningOf(snapshot{Now: now, Runs: test.runs}, test.plan, "eu")
		if (got.about == "") != (test.want == "") || !strings.Contains(got.says, test.want) || again != test.again {
			t.Errorf("%s: got %q, after %s", name, got, again)
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
