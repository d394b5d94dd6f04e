package doctor

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

func TestRefused(t *testing.T) {
	pod := func(name, reason string, since time.Duration) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PodSpec{NodeName: "spillway-eu"}}
		p.Status.Conditions = []corev1.PodCondition{{
			Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: reason, Message: "exceeded quota: few", LastTransitionTime: metav1.NewTime(time.Now().Add(-since)),
		}}
		return p
	}
	for name, test := range map[string]struct {
		pods  []corev1.Pod
		level Level
		want  string
	}{
		"two by the provider":  {[]corev1.Pod{pod("a", "Rejected", time.Hour), pod("b", "Rejected", time.Hour)}, Warning, "these pods have waited for more than 5 minutes: 2 pods (team/a, team/b); the reason now: Rejected: exceeded quota: few"},
		"by the binding":       {[]corev1.Pod{pod("a", "QuotaExceeded", time.Hour)}, Warning, "raise spec.quota of the ClusterBinding of eu"},
		"only for a moment":    {[]corev1.Pod{pod("a", "Rejected", time.Minute)}, OK, "is refused by its provider"},
		"it waits for room":    {[]corev1.Pod{pod("a", "Unschedulable", time.Hour)}, OK, "is refused by its provider"},
		"something is missing": {[]corev1.Pod{pod("a", "ReferenceNotFound", time.Hour)}, OK, "is refused by its provider"},
	} {
		e := &exam{run: &run{}, seen: status.Seen{Pods: test.pods}}
		e.refused()
		if len(e.findings) != 1 || e.findings[0].Level != test.level || !strings.Contains(e.findings[0].Message+e.findings[0].Mend, test.want) {
			t.Errorf("%s: got %+v", name, e.findings)
		}
	}
}
