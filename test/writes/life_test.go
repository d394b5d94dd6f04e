package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// life is the life of one pod, which runs in the first provider.
type life struct {
	*setup
	t             *testing.T
	namespace     int // The argument of rig.Namespace.
	local, remote *corev1.Pod
	// changes counts the changes of the remote pod that the local pod had to show.
	changes int
}

// A step is an action of somebody other than Spillway. It ends when Spillway has done what follows from it.
type step func(*life)

func (l *life) provider() *rig.Cluster { return l.Providers[0] }

// created does what the owner of the pod and the consumer's scheduler do.
func created(l *life) {
	admin := l.Consumer.Admin
	must(l.t, admin.Create(l.t.Context(), l.local))
	bind(l.t.Context(), l.t, admin, l.local, v1alpha1.VirtualNodePrefix+l.provider().ID)
	l.remote = &corev1.Pod{}
	key := client.ObjectKey{Namespace: remoteNamespace(l.namespace), Name: l.local.Name}
	l.eventually(l.t, "the remote pod", func(ctx context.Context) error { return l.provider().Admin.Get(ctx, key, l.remote) })
}

// bind puts a pod on a node, as a scheduler would.
func bind(ctx context.Context, t *testing.T, c client.Client, pod *corev1.Pod, node string) {
	t.Helper()
	must(t, c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}))
}

// scheduledThere does what the provider's scheduler does. The node does not matter to the consumer.
func scheduledThere(l *life) { bind(l.t.Context(), l.t, l.provider().Admin, l.remote, "nowhere") }

// runs, crashes, succeeds and isKilled do what the provider's kubelet reports.
func runs(l *life) { l.report(running(l.remote, 0)) }
func crashes(l *life) {
	l.report(running(l.remote, l.remote.Status.ContainerStatuses[0].RestartCount+1))
}
func succeeds(l *life) { l.report(ended(l.remote, corev1.PodSucceeded, 0)) }
func isKilled(l *life) { l.report(ended(l.remote, corev1.PodFailed, 137)) }

// report gives the remote pod a status, and waits until the local pod has it.
func (l *life) report(status corev1.PodStatus) {
	l.t.Helper()
	ctx := l.t.Context()
	must(l.t, l.provider().Admin.Get(ctx, client.ObjectKeyFromObject(l.remote), l.remote))
	l.remote.Status = status
	must(l.t, l.provider().Admin.Status().Update(ctx, l.remote))
	l.changes++
	l.eventually(l.t, "the status of the local pod", func(ctx context.Context) error {
		if err := l.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(l.local), l.local); err != nil {
			return err
		}
		if is, want := summary(l.local), summary(l.remote); is != want {
			return fmt.Errorf("it is %s, and the remote pod %s", is, want)
		}
		return nil
	})
}

// deleted does what the owner of the pod does. If the pod has ended, or is on no node, nothing is left after
// that.
func deleted(l *life) { l.delete(nil) }

// deletedByForce does not wait for the pod to end.
func deletedByForce(l *life) { l.delete(ptr.To[int64](0)) }

func (l *life) delete(grace *int64) {
	must(l.t, l.Consumer.Admin.Delete(l.t.Context(), l.local, &client.DeleteOptions{GracePeriodSeconds: grace}))
	l.eventually(l.t, "the remote pod to be told to go", func(ctx context.Context) error {
		err := l.provider().Admin.Get(ctx, client.ObjectKeyFromObject(l.remote), l.remote)
		if err == nil && l.remote.DeletionTimestamp.IsZero() {
			return fmt.Errorf("it is not being deleted")
		}
		return client.IgnoreNotFound(err)
	})
}

// leaves does what the provider's kubelet does at the end with a pod that is being deleted. If the pod was
// deleted by force, it may be gone already.
func leaves(l *life) {
	now := &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	must(l.t, client.IgnoreNotFound(l.provider().Admin.Delete(l.t.Context(), l.remote, now)))
}

// isOver waits until nothing of the pod is left on either side.
func (l *life) isOver() {
	l.t.Helper()
	l.eventually(l.t, "both pods to be gone", func(ctx context.Context) error {
		if err := gone(ctx, l.provider().Admin, l.remote); err != nil {
			return err
		}
		return gone(ctx, l.Consumer.Admin, l.local)
	})
}

// messagesDropped makes the consumer's API server act as one that lacks a feature of the provider's. It
// accepts a status, but leaves out one field.
func messagesDropped(l *life) {
	name := "no-messages"
	admin := l.Consumer.Admin
	must(l.t, admin.Create(l.t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: l.local.Namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/status"}},
				}}},
			},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
				Expression: `[JSONPatch{op: "add", path: "/status/message", value: ""}]`}}},
		},
	}), admin.Create(l.t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}))
	probe := newPod(l.namespace, "probe")
	must(l.t, admin.Create(l.t.Context(), probe))
	l.eventually(l.t, "messages to be left out", func(ctx context.Context) error {
		probe.Status.Message = "tried"
		if err := admin.Status().Update(ctx, probe, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}}); err != nil {
			return err
		}
		if probe.Status.Message != "" {
			return fmt.Errorf("the API server keeps %q", probe.Status.Message)
		}
		return nil
	})
	must(l.t, admin.Delete(l.t.Context(), probe, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
}

// needsChange does what the owner of the pod does: it changes the content of a ConfigMap, and changes a
// Secret but not its content.
func needsChange(l *life) {
	configMap, secret := newConfigMap(l.local.Namespace, "settings"), newSecret(l.local.Namespace, "password")
	l.change(configMap, func() { configMap.Data["key"] = "changed" })
	l.change(secret, func() { secret.Immutable = ptr.To(false) })
	l.eventually(l.t, "the copies to be changed", func(ctx context.Context) error {
		there := client.InNamespace(remoteNamespace(l.namespace))
		var configMaps corev1.ConfigMapList
		var secrets corev1.SecretList
		if err := errors.Join(l.provider().Admin.List(ctx, &configMaps, there), l.provider().Admin.List(ctx, &secrets, there)); err != nil {
			return err
		}
		if !slices.ContainsFunc(configMaps.Items, func(m corev1.ConfigMap) bool { return m.Data["key"] == "changed" }) ||
			!slices.ContainsFunc(secrets.Items, func(s corev1.Secret) bool { return s.Immutable != nil }) {
			return errors.New("they are as they were")
		}
		return nil
	})
	l.settled(l.t, time.Now())
}

// change patches an object of the consumer.
func (l *life) change(object client.Object, change func()) {
	l.t.Helper()
	before := object.DeepCopyObject().(client.Object)
	change()
	must(l.t, l.Consumer.Admin.Patch(l.t.Context(), object, client.MergeFrom(before)))
}

// saysWhy makes a change of the remote pod that the local pod cannot show. Spillway tries it once, and then
// everything is at rest. It tries once more when the local pod changes, which happens at its deletion.
func saysWhy(l *life) {
	must(l.t, l.provider().Admin.Get(l.t.Context(), client.ObjectKeyFromObject(l.remote), l.remote))
	l.remote.Status.Message = "not to be seen"
	must(l.t, l.provider().Admin.Status().Update(l.t.Context(), l.remote))
	l.changes += 2
	l.settled(l.t, time.Now())
}
