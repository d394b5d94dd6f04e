package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// selectsNothing wants an offloading to report that it selects no provider.
func selectsNothing(namespace string) Func {
	return phaseIs(namespace, v1alpha1.OffloadingPhaseNoClusterSelected, "")
}

// phaseIs wants an offloading to have that phase. If reason is not "", its remote namespace in P1 must be not
// ready for that reason.
func phaseIs(namespace string, phase v1alpha1.OffloadingPhase, reason string) Func {
	return func(ctx context.Context, w *world.World) error {
		offloading, err := get[v1alpha1.NamespaceOffloading](ctx, w, world.Consumer, namespace, v1alpha1.OffloadingName)
		if err != nil {
			return err
		}
		errs := []error{
			same("the phase", offloading.Status.OffloadingPhase, phase),
			condition(offloading.Status.Conditions, v1alpha1.OffloadingReady, metav1.ConditionFalse, string(phase)),
		}
		if reason == "" {
			errs = append(errs, same("how many providers it tells of", len(offloading.Status.RemoteNamespaceConditions), 0))
		}
		found := reason == ""
		for _, remote := range offloading.Status.RemoteNamespaceConditions {
			if remote.Cluster == world.P1 {
				found = true
				errs = append(errs, condition(remote.Conditions, v1alpha1.RemoteNamespaceReady, metav1.ConditionFalse, reason))
			}
		}
		if !found {
			errs = append(errs, fmt.Errorf("it does not tell of provider %s", world.P1))
		}
		return wrap("NamespaceOffloading of "+namespace, errs...)
	}
}

// asked wants the manager to have sent that write since the first step. It is for events that the manager
// sees but does not report.
func asked(cluster, verb, resource, name string) Func {
	return func(_ context.Context, w *world.World) error {
		if w.Asked(cluster, verb, resource, name) {
			return nil
		}
		return fmt.Errorf("the manager has not tried to %s %s %s in %s", verb, resource, name, cluster)
	}
}

// readyIs wants P1's binding not to be Ready, for that reason.
func readyIs(ctx context.Context, w *world.World, reason string) error {
	return bindingIs(v1alpha1.BindingReady, metav1.ConditionFalse, reason)(ctx, w)
}

// bindingIs wants a condition of P1's binding to have that status and reason.
func bindingIs(kind string, status metav1.ConditionStatus, reason string) Func {
	return func(ctx context.Context, w *world.World) error {
		binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", world.P1)
		if err != nil {
			return err
		}
		return wrap("ClusterBinding "+world.P1, condition(binding.Status.Conditions, kind, status, reason))
	}
}

// podLost wants a pod to have failed because its remote pod is gone.
func podLost(namespace, name string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, namespace, name)
		if err != nil {
			return err
		}
		return wrap("pod "+namespace+"/"+name,
			same("the phase", pod.Status.Phase, corev1.PodFailed), same("the reason", pod.Status.Reason, v1alpha1.ReasonRemotePodLost),
			same("whether it is Ready", podCondition(pod, corev1.PodReady), corev1.ConditionFalse))
	}
}

// podStaysHome wants a pod to be Pending, and to report that reason.
func podStaysHome(namespace, name, reason string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, namespace, name)
		if err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodPending {
			return fmt.Errorf("pod %s/%s is %s, wanted %s", namespace, name, pod.Status.Phase, corev1.PodPending)
		}
		for _, is := range pod.Status.Conditions {
			if is.Type == v1alpha1.PodOffloaded {
				return wrap("pod "+namespace+"/"+name, same("the status", is.Status, corev1.ConditionFalse), same("the reason", is.Reason, reason))
			}
		}
		return fmt.Errorf("pod %s/%s does not say what it waits for", namespace, name)
	}
}

// stranger are the labels of objects that somebody else created. Many objects have such a label.
var stranger = map[string]string{"app.kubernetes.io/managed-by": "somebody"}

// untouched wants an object in a provider to be as the stranger created it: with these labels and no
// annotations.
func untouched[T any, P interface {
	*T
	client.Object
}](name func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		object, err := get[T, P](ctx, w, world.P1, name(w).Namespace, name(w).Name)
		if err != nil {
			return err
		}
		labels := fmt.Sprint(object.GetLabels())
		wanted := map[string]string{}
		for key, value := range stranger {
			wanted[key] = value
		}
		if name(w).Namespace == "" {
			wanted[corev1.LabelMetadataName] = name(w).Name // Every API server sets it.
		}
		return wrap(fmt.Sprintf("the stranger's %T %s", object, name(w)),
			same("its labels", labels, fmt.Sprint(wanted)), same("its annotations", len(object.GetAnnotations()), 0),
			same("its finalizers", len(object.GetFinalizers()), 0),
			same("that it stays", object.GetDeletionTimestamp().IsZero(), true))
	}
}
