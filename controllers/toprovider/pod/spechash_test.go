package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestSpecHashTellsPodsApart(t *testing.T) {
	hash := func(pod *corev1.Pod) string { return specHash(pod, nil, pod.Spec.Tolerations) }
	base := hash(fieldtest.PodOf(t, running))
	if again := hash(fieldtest.PodOf(t, running)); again != base {
		t.Errorf("one pod has two hashes:\n%s\n%s", base, again)
	}
	apart := map[string]func(*corev1.Pod){
		"toleration moved over the boundary of strings": func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "aE", Operator: "xists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](10)}}
		},
		"value of a toleration":  func(p *corev1.Pod) { p.Spec.Tolerations[0].Value = "v" },
		"effect of a toleration": func(p *corev1.Pod) { p.Spec.Tolerations[0].Effect = "" },
		"no deadline":            func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = nil },
		"request as limit": func(p *corev1.Pod) {
			r := &p.Spec.Containers[0].Resources
			r.Limits, r.Requests = r.Requests, nil
		},
	}
	for name, change := range apart {
		t.Run(name, func(t *testing.T) {
			pod := fieldtest.PodOf(t, running)
			change(pod)
			if hash(pod) == base {
				t.Errorf("got the same hash: %s", base)
			}
		})
	}
}
