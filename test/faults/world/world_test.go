package world

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/oracle"
)

func TestOwns(t *testing.T) {
	lane := &Lane{ConsumerID: "c1", Origin: "origin-1"}
	for what, test := range map[string]struct {
		object metav1.ObjectMeta
		want   bool
	}{
		"in a namespace of the lane":         {metav1.ObjectMeta{Namespace: "team-c1", Name: "web"}, true},
		"a namespace of the lane":            {metav1.ObjectMeta{Name: "mount-c1"}, true},
		"in a namespace of another lane":     {metav1.ObjectMeta{Namespace: "team-c10", Name: "web"}, false},
		"a volume with the mark of the lane": {metav1.ObjectMeta{Name: "data-hash", Labels: map[string]string{v1alpha1.LabelOrigin: "origin-1"}}, true},
		"a volume with another mark":         {metav1.ObjectMeta{Name: "data-hash", Labels: map[string]string{v1alpha1.LabelOrigin: "origin-2"}}, false},
		"a volume of a stranger in the lane": {metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{oracle.LabelLane: "c1"}}, true},
		"what was there before":              {metav1.ObjectMeta{Name: "spillway-provider"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			if got := lane.owns(&metav1.PartialObjectMetadata{ObjectMeta: test.object}); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestStatusOf(t *testing.T) {
	pod := &corev1.Pod{
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
	}
	for _, test := range []struct {
		phase corev1.PodPhase
		ready corev1.ConditionStatus
	}{{corev1.PodRunning, corev1.ConditionTrue}, {corev1.PodSucceeded, corev1.ConditionFalse}} {
		began := pod.Status.StartTime
		pod.Status = statusOf(pod, test.phase)
		if pod.Status.Phase != test.phase || began != nil && !pod.Status.StartTime.Equal(began) {
			t.Errorf("the phase is %s, and the pod has started at %s", pod.Status.Phase, pod.Status.StartTime)
		}
		conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
		for _, condition := range pod.Status.Conditions {
			conditions[condition.Type] = condition.Status
		}
		if len(pod.Status.Conditions) != 4 || conditions[corev1.PodScheduled] != corev1.ConditionTrue || conditions[corev1.PodReady] != test.ready {
			t.Errorf("%s: the conditions are %v", test.phase, pod.Status.Conditions)
		}
		is := pod.Status.ContainerStatuses
		if len(is) != 1 || (is[0].State.Running != nil) != (test.phase == corev1.PodRunning) || (is[0].State.Terminated != nil) != (test.phase == corev1.PodSucceeded) {
			t.Errorf("%s: the containers are %+v", test.phase, is)
		}
	}
}

func TestThrough(t *testing.T) {
	direct := []byte(`
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: Y2E=}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: c, context: {cluster: k, user: u}}]`)
	proxied, p, err := through(direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.RESTConfigFromKubeConfig(proxied)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://"+p.Addr() || config.BearerToken != "secret" || string(config.CAData) != "ca" {
		t.Errorf("got %s", strings.ReplaceAll(string(proxied), "secret", "…"))
	}
}
