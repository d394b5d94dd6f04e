package test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/follow"
)

// runs starts the pod, with everything that it needs. A pod waits for the NetworkPolicies that select it.
func runs(ctx context.Context, t *tester) (string, error) {
	for _, object := range []client.Object{settings(t.nonce), service(), policy()} {
		if err := t.create(ctx, object); err != nil {
			return "", err
		}
	}
	pod, err := t.start(ctx, webPod(t.image, t.user), moment)
	if err != nil {
		return "", err
	}
	t.seen.Played = t.played(ctx, pod)
	message := "it runs on " + pod.Spec.NodeName
	if t.seen.Played {
		message += "; its node in the provider is kwok's, where no container runs"
	}
	return message, nil
}

// start creates a pod, and waits until it is Ready. It waits on, and says so, while the provider prepares it.
func (t *tester) start(ctx context.Context, pod *corev1.Pod, lasts time.Duration) (*corev1.Pod, error) {
	if err := t.create(ctx, pod); err != nil {
		return nil, err
	}
	ctx, patience := newPatience(ctx, lasts)
	defer patience.end()
	said := ""
	here := []client.ListOption{client.InNamespace(t.namespace)}
	watched := []follow.Watched{{List: &corev1.PodList{}, Options: here}, {List: &corev1.EventList{}, Options: here}}
	err := follow.Until(ctx, t.consumer, watched, func(ctx context.Context) (bool, error) {
		if err := t.consumer.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, follow.Again(err)
		}
		t.seen.Pod = pod
		c := condition(pod, v1alpha1.PodOffloaded)
		patience.refused(c != nil && c.Status == corev1.ConditionFalse && isRefusal(c.Reason, c.Message) || pod.Status.Phase == corev1.PodFailed || volumeRefused(ctx, t.consumer, pod))
		what := coming(pod, t.binding)
		patience.gets(what != "")
		if what != "" && what != said {
			t.printer.line("  %s: %s is waiting: %s", t.binding.Name, pod.Name, what)
			said = what
		}
		return pod.Status.Phase == corev1.PodRunning && field.IsReady(pod), nil
	})
	if err != nil {
		after, cancel := afterwards(ctx)
		defer cancel()
		t.refresh(after)
		t.seen.Warnings = warnings(after, t.consumer, pod)
	}
	return pod, err
}

// played reports whether the pod's node in the provider is one of kwok.
func (t *tester) played(ctx context.Context, pod *corev1.Pod) bool {
	remote, node := &corev1.Pod{}, &corev1.Node{}
	if t.there(ctx, remote, pod.Annotations[v1alpha1.AnnotationRemoteName]) != nil || t.account.Get(ctx, client.ObjectKey{Name: remote.Spec.NodeName}, node) != nil {
		return false
	}
	return node.Annotations["kwok.x-k8s.io/node"] == "fake" || node.Status.NodeInfo.KubeletVersion == "kwok"
}

// ofPod is the cause if the pod does not become Ready.
func (s Seen) ofPod() (cause, mend string) {
	if s.Pod == nil {
		return "", ""
	}
	offloaded, stuck := condition(s.Pod, v1alpha1.PodOffloaded), pod.StuckOf(s.Pod)
	switch {
	case s.Pod.Spec.NodeName == "":
		return "the consumer's scheduler places no pod on the virtual node", "compare the pod's request of 10m CPU and 32Mi with kubectl describe node -l " + v1alpha1.LabelCluster + "=" + s.Binding.Spec.ClusterID + ": its allocatable, and its taints"
	case stuck != nil && stuck.Unplaced():
		return s.ofNoNode(stuck)
	case offloaded != nil && offloaded.Status == corev1.ConditionFalse:
		return "the pod is not in the provider: " + offloaded.Reason, cmp.Or(doctor.Mend(offloaded.Reason, s.Binding.Name), "docs/troubleshooting.md, pods, reason "+offloaded.Reason)
	}
	for _, container := range s.Pod.Status.ContainerStatuses {
		if w := container.State.Waiting; w != nil && strings.Contains(w.Reason, "Image") {
			return "the provider's node cannot pull the image " + container.Image, "name an image that it can pull: --image"
		}
		if w := container.State.Waiting; w != nil && isPreparing(w.Reason) {
			return "the provider is still pulling the image, or attaching a volume: this need not be a fault", "give it more time: --timeout 10m; or name an image that is near: --image"
		}
		if ended := container.LastTerminationState.Terminated; ended != nil {
			return "the container ends at once", "the image needs a shell, httpd and wget: --image"
		}
	}
	return "the provider does not start the pod", "in the provider: kubectl describe pod -n %r; kubectl get nodes"
}

func isPreparing(reason string) bool {
	return reason == "ContainerCreating" || reason == "PodInitializing"
}

// coming says what the provider does for a pod that need not be a fault, however long it takes; "" if nothing is known.
func coming(p *corev1.Pod, binding *v1alpha1.ClusterBinding) string {
	if stuck := pod.StuckOf(p); stuck != nil && stuck.Reason == v1alpha1.ReasonUnschedulable && binding.Spec.VirtualNode.Elastic != nil {
		return "the provider has no node for it yet, and can grow"
	}
	if slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && isPreparing(c.State.Waiting.Reason)
	}) {
		return "the provider pulls the image, or attaches a volume"
	}
	return ""
}

// ofNoNode is the cause if the pod is in the provider, which has no node for it.
func (s Seen) ofNoNode(stuck *pod.Stuck) (cause, mend string) {
	if s.Binding.Spec.VirtualNode.Elastic != nil && stuck.Reason == v1alpha1.ReasonUnschedulable {
		return "the provider has no node for the pod yet: its autoscaler may be starting one", "give it more time: --timeout 15m"
	}
	return "the provider has no node for the pod: " + stuck.Reason, "docs/troubleshooting.md, pods, reason " + stuck.Reason
}
