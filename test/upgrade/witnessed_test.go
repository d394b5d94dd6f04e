//go:build upgrade

package upgrade

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

// running is a pod as its owner wants it.
func running(uid types.UID) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: uid, Labels: label},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// Nothing that may happen to a pod escapes the witness.
func TestWitness(t *testing.T) {
	now := metav1.Now()
	change := func(of func(*corev1.Pod)) func(*witness) {
		return func(w *witness) {
			after := running("a")
			of(after)
			w.changed(running("a"), after)
		}
	}
	for name, c := range map[string]struct {
		happens func(*witness)
		want    string
	}{
		"nothing":          {change(func(*corev1.Pod) {}), ""},
		"another label":    {change(func(p *corev1.Pod) { p.Labels = map[string]string{"new": ""} }), ""},
		"gone":             {func(w *witness) { w.gone(running("a")) }, "is gone"},
		"gone in a gap":    {func(w *witness) { w.gone(toolscache.DeletedFinalStateUnknown{Obj: running("a")}) }, "is gone"},
		"somebody else's":  {func(w *witness) { w.gone(running("b")) }, ""},
		"made again":       {func(w *witness) { w.changed(running("a"), running("c")) }, "made again"},
		"being deleted":    {change(func(p *corev1.Pod) { p.DeletionTimestamp = &now }), "being deleted"},
		"failed":           {change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), "is Failed"},
		"not Ready":        {change(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }), "not Ready"},
		"to be evicted":    {change(func(p *corev1.Pod) { p.Status.Conditions = append(p.Status.Conditions, evicted) }), "evicted"},
		"restarted":        {change(func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }), "restarted"},
		"a watch of other": {func(w *witness) { w.gone("nonsense") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{cluster: "eu", ours: mine, kept: map[types.UID]string{}}
			w.keep([]corev1.Pod{*running("a")})
			c.happens(w)
			kept, problems := w.result()
			if got := strings.Join(problems, "; "); kept != 1 || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("of %d pods the witness says %q, want %q", kept, got, c.want)
			}
		})
	}
}

var evicted = corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}
