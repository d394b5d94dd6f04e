package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestConsumerAndWhatTheProviderAdds tests a provider whose own admission adds a label, an owner, a
// toleration and a priority to pods. A consumer may not set these.
func TestConsumerAndWhatTheProviderAdds(t *testing.T) {
	needsPolicy(t)
	consumer, namespace := inProvider(t), remoteNamespace(held(mark()))
	if err := server(t).Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	own := metav1.ObjectMeta{Namespace: namespace.Name, Name: "pod", Labels: mark(), OwnerReferences: []metav1.OwnerReference{controllerOf(namespace)}}
	adding := another(own.Namespace)
	policy, _ := adding[0].(*admissionv1.MutatingAdmissionPolicy)
	policy.Spec.Mutations[0].JSONPatch.Expression = `[
		JSONPatch{op: "add", path: "/metadata/labels/example.com~1profile", value: "added"},
		JSONPatch{op: "add", path: "/metadata/ownerReferences/-", value: {"apiVersion": "example.com/v1", "kind": "Profile", "name": "p", "uid": "added"}},
		JSONPatch{op: "add", path: "/spec/tolerations/-", value: {"key": "example.com/gpu", "operator": "Exists"}}]`
	usual := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, GlobalDefault: true, Value: 7}
	for _, object := range append(adding, usual) {
		temporary(t, object)
	}
	var pod *corev1.Pod
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		pod = podOf(*own.DeepCopy()) // An answer is decoded into existing maps.
		err := server(t).Create(ctx, pod, client.DryRunAll)
		return pod.Labels["example.com/profile"] != "" && len(pod.Spec.Tolerations) == 3 && pod.Spec.PriorityClassName == "usual", err
	})
	if err != nil {
		t.Fatal(err)
	}
	sending, owned, later := *own.DeepCopy(), *own.DeepCopy(), *own.DeepCopy()
	later.Name = "later"
	owned.OwnerReferences = append(owned.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "added"})
	sending.Labels["example.com/profile"] = "mine"
	outage := tolerating(corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	attempt(t, map[string]try{
		"sends nothing of it":     {creating(consumer, podOf(own)), ""},
		"sends the label":         {creating(consumer, podOf(sending)), notLetIn},
		"sends an owner":          {creating(consumer, podOf(owned)), nothingElse},
		"sends the class":         {creating(consumer, podOf(own, func(s *corev1.PodSpec) { s.PriorityClassName = "usual" })), notAClass},
		"sends other tolerations": {creating(consumer, podOf(own, outage)), notTolerated},
		"adds one later":          {patching(consumer, made(t, podOf(later)), `{"metadata":{"labels":{"example.com/other":"x"}}}`), notLetIn},
	})
}

// TestConsumerAndWhatTheProviderChanges tests a provider whose own admission adds a label and an annotation
// to pods and ConfigMaps at every update, also to older ones.
func TestConsumerAndWhatTheProviderChanges(t *testing.T) {
	needsPolicy(t)
	consumer, namespace := inProvider(t), namespaceOf(t, held(mark()))
	own := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: mark(), Annotations: map[string]string{"a": "b"}}
	}
	pod, settings := made(t, podOf(own("pod"))), made(t, &corev1.ConfigMap{ObjectMeta: own("settings")})
	changing := another(namespace)
	policy, _ := changing[0].(*admissionv1.MutatingAdmissionPolicy)
	rule := &policy.Spec.MatchConstraints.ResourceRules[0]
	rule.Operations, rule.Resources = []admissionv1.OperationType{admissionv1.Update}, []string{"pods", "configmaps"}
	policy.Spec.Mutations[0].JSONPatch.Expression = `[
		JSONPatch{op: "add", path: "/metadata/labels/example.com~1profile", value: "changed"},
		JSONPatch{op: "add", path: "/metadata/annotations/example.com~1patched-by", value: string(size(object.metadata.annotations))}]`
	for _, object := range changing {
		temporary(t, object)
	}
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		seen := pod.DeepCopy()
		err := server(t).Patch(ctx, seen, merge(`{"metadata":{"annotations":{"a":"c"}}}`), client.DryRunAll)
		return seen.Labels["example.com/profile"] != "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, object := range map[string]client.Object{"pod": pod, "ConfigMap": settings} {
		attempt(t, map[string]try{
			kind + ": changes what is its own": {patching(consumer, object, `{"metadata":{"annotations":{"a":"c","e":"f"}}}`), ""},
			kind + ": sends the label, too":    {patching(consumer, object, `{"metadata":{"labels":{"example.com/profile":"changed"}}}`), notLetIn},
			kind + ": sends another label":     {patching(consumer, object, `{"metadata":{"labels":{"example.com/other":"x"}}}`), notLetIn},
			kind + ": and says nothing of it":  {patching(consumer, object, `{"metadata":{"managedFields":[{}],"labels":{"example.com/other":"x"}}}`), notLetIn},
		})
	}
}

// TestConsumerAndLabelsOfNamespaces tests a provider that adds labels to each new namespace by which its own
// policies restrict it less.
func TestConsumerAndLabelsOfNamespaces(t *testing.T) {
	needsPolicy(t)
	consumer, adding := inProvider(t), another("any")
	policy, _ := adding[0].(*admissionv1.MutatingAdmissionPolicy)
	policy.Spec.MatchConstraints.NamespaceSelector = nil
	policy.Spec.MatchConstraints.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelBinding: "labelled"}}
	policy.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"namespaces"}
	policy.Spec.Mutations[0].JSONPatch.Expression = `[
		JSONPatch{op: "add", path: "/metadata/labels/example.com~1team", value: "added"},
		JSONPatch{op: "add", path: "/metadata/labels/pod-security.kubernetes.io~1audit", value: "privileged"},
		JSONPatch{op: "add", path: "/metadata/labels/pod-security.kubernetes.io~1enforce-version", value: "v1.30"}]`
	for _, object := range adding {
		temporary(t, object)
	}
	labels := held(markBut(v1alpha1.LabelBinding, "labelled"))
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		namespace := remoteNamespace(labels)
		err := server(t).Create(ctx, namespace, client.DryRunAll)
		return namespace.Labels["example.com/team"] != "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, creating(consumer, remoteNamespace(labels))(t.Context()), "")
	labels["pod-security.kubernetes.io/enforce-version"] = "v1.29"
	refused(t, creating(consumer, remoteNamespace(labels))(t.Context()), notALabel)
}

// TestConsumerDeniesNothing tests a consumer that forges managedFields, so that somebody else or nobody seems
// to have sent the object.
func TestConsumerDeniesNothing(t *testing.T) {
	consumer := inProvider(t)
	entry := metav1.ManagedFieldsEntry{
		Manager: "webhook", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		Time: ptr.To(metav1.Now()), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{}}}}`),
	}
	old, wrong := entry, entry
	old.APIVersion, wrong.FieldsType = "v0", "FieldsV0"
	for lie, fields := range map[string][]metav1.ManagedFieldsEntry{
		"nothing": nil, "no entry": {}, "an empty entry": {{}}, "another's": {entry}, "of another version": {old}, "of no type": {wrong},
		"of the entry's own name": {{Manager: "current-operation", Operation: entry.Operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: entry.FieldsV1}},
	} {
		level := remoteNamespace(held(markBut("openshift.io/run-level", "0")))
		level.ManagedFields = fields
		refused(t, creating(consumer, level)(t.Context()), notALabel)
		for kind, object := range carrying(namespaceOf(t, held(mark()))) {
			t.Run("a "+kind+", "+lie, func(t *testing.T) {
				sent := object(marked(map[string]string{"iam.amazonaws.com/role": "admin"}), nil)
				sent.SetManagedFields(fields)
				refused(t, creating(consumer, sent)(t.Context()), notLetIn)
				said, err := json.Marshal(fields)
				if err != nil {
					t.Fatal(err)
				}
				there := temporary(t, object(marked(nil), nil))
				later := func(change string) error {
					changed := there.DeepCopyObject().(client.Object) //nolint:forcetypeassert // As is what it copies.
					return consumer.Patch(t.Context(), changed, merge(fmt.Sprintf(change, said)), client.DryRunAll)
				}
				refused(t, later(`{"metadata":{"managedFields":%s,"labels":{"iam.amazonaws.com/role":"admin"}}}`), notLetIn)
				refused(t, later(`{"metadata":{"managedFields":%s,"annotations":{"iam.amazonaws.com/role":"admin"}}}`), notLetIn)
				if kind == "pod" {
					refused(t, later(`{"metadata":{"managedFields":%s},"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}}`), notTolerated)
				}
				if pod, is := object(marked(nil), nil).(*corev1.Pod); is {
					pod.ManagedFields = fields
					pod.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
					refused(t, creating(consumer, pod)(t.Context()), notTolerated)
					twice := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}
					pod.Spec.Tolerations, pod.OwnerReferences = nil, []metav1.OwnerReference{twice, twice}
					refused(t, creating(consumer, pod)(t.Context()), nothingElse)
				}
			})
		}
	}
	// An apply can also create an object if the user has the right to patch.
	applied := podOf(metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "applied", Labels: marked(map[string]string{"iam.amazonaws.com/role": "admin"})})
	applied.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	refused(t, consumer.Patch(t.Context(), applied, client.Apply, client.FieldOwner("thief")), notLetIn) //nolint:staticcheck // As a thief would, of an object that is whole.
}

// TestConsumerOwners tests the owner references of objects.
func TestConsumerOwners(t *testing.T) {
	consumer := inProvider(t)
	namespace := &corev1.Namespace{}
	if err := server(t).Get(t.Context(), client.ObjectKey{Name: namespaceOf(t, held(mark()))}, namespace); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*metav1.OwnerReference)
		want   string // Part of the refusal of a pod; empty: allowed. Other kinds have no owners.
	}{
		"its namespace":           {func(*metav1.OwnerReference) {}, ""},
		"one that it holds up":    {func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(true) }, nothingElse},
		"another namespace":       {func(o *metav1.OwnerReference) { o.Name = "kube-system" }, nothingElse},
		"one of that name before": {func(o *metav1.OwnerReference) { o.UID = "before" }, nothingElse},
		"a node":                  {func(o *metav1.OwnerReference) { o.Kind = "Node" }, nothingElse},
		"one of another API":      {func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1" }, nothingElse},
	} {
		for kind, object := range carrying(namespace.Name) {
			t.Run("a "+kind+" of "+name, func(t *testing.T) {
				want := test.want
				if kind != "pod" {
					want = "metadata.ownerReferences must be empty"
				}
				owner, owned := controllerOf(namespace), object(marked(nil), nil)
				test.change(&owner)
				owned.SetOwnerReferences([]metav1.OwnerReference{owner})
				refused(t, creating(consumer, owned)(t.Context()), want)
				there := temporary(t, object(marked(nil), nil))
				owns := client.MergeFrom(there.DeepCopyObject().(client.Object)) //nolint:forcetypeassert // As is what it copies.
				there.SetOwnerReferences(owned.GetOwnerReferences())
				refused(t, consumer.Patch(t.Context(), there, owns, client.DryRunAll), want)
				there.SetOwnerReferences(owned.GetOwnerReferences())
				refused(t, server(t).Patch(t.Context(), there, owns), "")
				refused(t, patching(consumer, there, `{"metadata":{"annotations":{"a":"b"}}}`)(t.Context()), "") // Existing owners are kept.
			})
		}
	}
}

const nothingElse = "metadata.ownerReferences may name only the pod's own namespace"

// controllerOf is a pod's owner reference to its namespace, as Spillway sends it.
func controllerOf(namespace *corev1.Namespace) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID, Controller: ptr.To(true)}
}
