package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func restarts(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = policy }
}

func reason(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Reason = reason }
}

// ended gives a pod a container that has exited.
func ended(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: metav1.NewTime(builder.Epoch)},
	}}}
}

// neverBegun gives a pod a container that a kubelet reports as ended although it never started.
func neverBegun(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"},
	}}}
}

// hasStarted has the states of two containers.
type hasStarted struct {
	init, app corev1.ContainerState
	restarts  int32
}

func begun(b *hasStarted) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: b.init}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "first"}, {Name: "app", State: b.app, RestartCount: b.restarts}}
	}
}

func TestEndedThere(t *testing.T) {
	always, never := restarts(corev1.RestartPolicyAlways), restarts(corev1.RestartPolicyNever)
	failed, succeeded := phase(corev1.PodFailed), phase(corev1.PodSucceeded)
	type changes []func(*corev1.Pod)
	for name, test := range map[string]struct {
		local, written changes
		want           bool
	}{
		"it is deleted there":                            {changes{always}, changes{failed, reason(v1alpha1.ReasonRemotePodLost), ended}, true},
		"a job's is deleted there":                       {changes{never}, changes{failed, reason(v1alpha1.ReasonRemotePodLost), ended}, true},
		"a kubelet does not take it":                     {changes{never}, changes{failed, reason("OutOfcpu")}, true},
		"it is evicted before it begins":                 {changes{never}, changes{failed, reason("Evicted"), neverBegun}, true},
		"it fails, whose containers begin again for all": {changes{always}, changes{failed, ended}, true},
		"it has succeeded, which cannot be":              {changes{always}, changes{succeeded, ended}, true},

		"a job fails by itself":             {changes{never}, changes{failed, ended}, false},
		"a job has succeeded":               {changes{never}, changes{succeeded, ended}, false},
		"a job whose containers say less":   {changes{never}, changes{succeeded}, false},
		"a job's init container has ended":  {changes{never}, changes{failed, begun(&hasStarted{init: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(builder.Epoch)}}})}, false},
		"a job's container seems to run":    {changes{never}, changes{failed, begun(&hasStarted{app: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})}, false},
		"a job's container has run before":  {changes{never}, changes{failed, begun(&hasStarted{restarts: 1})}, false},
		"a job's container has only waited": {changes{never}, changes{failed, begun(&hasStarted{app: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}})}, true},
		"its time is over, as was said":     {changes{always, func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) }}, changes{failed, reason("DeadlineExceeded")}, false},
		"its containers crash":              {changes{always}, changes{phase(corev1.PodRunning), ended}, false},
		"it is being deleted here":          {changes{always, going(30)}, changes{failed, ended}, false},
		"it had ended before":               {changes{always, failed}, changes{failed, ended, reason("Evicted")}, false},
		"it begins":                         {changes{always}, changes{phase(corev1.PodRunning)}, false},
		"it is not even there, and waits":   {changes{always}, changes{offloaded("False", v1alpha1.ReasonRejected, "no")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pod.EndedByProvider(local(test.local...), decide.Action{Verb: decide.PatchStatus, Object: local(test.written...)}); got != test.want {
				t.Errorf("it counts as ended by the provider: %v", got)
			}
		})
	}
	if pod.EndedByProvider(local(always), decide.Action{Object: &corev1.ConfigMap{}}) {
		t.Error("so does something that is no pod")
	}
	for deleted, want := range map[*corev1.Pod]bool{local(never): true, local(never, failed): false, local(always, going(30)): false} {
		if got := pod.EndedByProvider(deleted, decide.Action{Verb: decide.Delete, Object: deleted}); got != want {
			t.Errorf("the deletion of one that is %s, deleted at %v, counts: %v", deleted.Status.Phase, deleted.DeletionTimestamp, got)
		}
	}
}
