package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/requests"
)

// twoProviders gives each provider work right after a request to the other one. If that one is cut off at the
// request, the work here must not wait for it.
var twoProviders = Scenario{
	Name: "two-providers", Prepare: bindAndOffload(world.P1, world.P2),
	Steps: []Step{{
		Name: "a pod in each, and a change of the first",
		Do: all(
			createPod(world.P1), soon(asked(world.P1, requests.Create, "pods", web)),
			createNamed(second, world.P2), soon(asked(world.P2, requests.Create, "pods", second)),
			changeVersion(web, "2")),
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), podIs(corev1.PodRunning, team, second, world.P2), hasVersion(web, "2", world.P1)),
	}, {
		Name: "one of the providers is unbound, and the pod in the other one changed",
		Do: all(
			deleteLocal(&v1alpha1.ClusterBinding{}, "", world.P2), soon(asked(world.P2, requests.Delete, "pods", second)),
			changeVersion(web, "3")),
		Until: all(unbound(world.P2), podGone(team, second, world.P2),
			bound(world.P1), offloaded(team, world.P1), podIs(corev1.PodRunning, team, web, world.P1), hasVersion(web, "3", world.P1)),
	}},
}

// soon waits for a check in the middle of a user's actions.
func soon(wanted Func) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := eventually(ctx, w, wanted); err != nil {
			return NotMet(err)
		}
		return nil
	}
}

// labelVersion is the label that changeVersion changes.
const labelVersion = "version"

// changeVersion changes a label of a local pod.
func changeVersion(name, version string) Func {
	return change(world.Consumer, named(team, name), func(_ *world.World, pod *corev1.Pod) {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, labelVersion, version)
	})
}

// hasVersion wants the remote pod to have that label.
func hasVersion(name, version, provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, provider, w.Remote(team), name)
		if err != nil {
			return err
		}
		return wrap("the remote pod "+name, same("the label", pod.Labels[labelVersion], version))
	}
}
