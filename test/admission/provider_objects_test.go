package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	notMarked  = "lacks the labels of Spillway: a consumer may write nothing in it"
	markIsNot  = "metadata.labels[spillway.io/managed-by], [spillway.io/origin] and [spillway.io/binding] must match the namespace's"
	markWasNot = "metadata.labels[spillway.io/managed-by], [spillway.io/origin] and [spillway.io/binding] did not match the namespace's"
)

// inNamespaces are the kinds that a consumer writes in its namespaces, each with an object that it may create
// if the labels agree.
var inNamespaces = map[string]func(metav1.ObjectMeta) client.Object{
	"pod":       func(meta metav1.ObjectMeta) client.Object { return podOf(meta) },
	"configmap": func(meta metav1.ObjectMeta) client.Object { return &corev1.ConfigMap{ObjectMeta: meta} },
	"secret":    func(meta metav1.ObjectMeta) client.Object { return secretOf(meta, corev1.SecretTypeOpaque) },
	"claim":     func(meta metav1.ObjectMeta) client.Object { return claimOf(meta, volumeName) },
	"service":   func(meta metav1.ObjectMeta) client.Object { return serviceOf(meta) },
	"budget":    func(meta metav1.ObjectMeta) client.Object { return budgetOf(meta, `{"minAvailable":1}`) },
}

func TestConsumerCreatesAndDeletes(t *testing.T) {
	consumer := inProvider(t)
	own := namespaceOf(t, held(mark()))
	for name, test := range map[string]struct {
		namespace string
		labels    map[string]string
		want      string // Part of the refusal; empty: allowed.
	}{
		"with the mark of the namespace": {own, mark(), ""},
		"without labels":                 {own, nil, markIsNot},
		"managed by another":             {own, markBut(v1alpha1.LabelManagedBy, "helm"), markIsNot},
		"without origin":                 {own, markBut(v1alpha1.LabelOrigin, ""), markIsNot},
		"of another origin":              {own, markBut(v1alpha1.LabelOrigin, "other"), markIsNot},
		"of another binding":             {own, markBut(v1alpha1.LabelBinding, "us"), markIsNot},
		"where nothing is marked":        {namespaceOf(t, held(nil)), mark(), notMarked},
		"where managed by another": {
			namespaceOf(t, held(markBut(v1alpha1.LabelManagedBy, "helm"))), markBut(v1alpha1.LabelManagedBy, "helm"), notMarked},
		"where no origin is":  {namespaceOf(t, held(markBut(v1alpha1.LabelOrigin, ""))), markBut(v1alpha1.LabelOrigin, ""), notMarked},
		"where no binding is": {namespaceOf(t, held(markBut(v1alpha1.LabelBinding, ""))), markBut(v1alpha1.LabelBinding, ""), notMarked},
	} {
		for kind, object := range inNamespaces {
			meta := metav1.ObjectMeta{Namespace: test.namespace, GenerateName: "object-", Labels: test.labels}
			t.Run("create "+kind+" "+name, func(t *testing.T) {
				refused(t, consumer.Create(t.Context(), object(meta), client.DryRunAll), test.want)
			})
			t.Run("delete "+kind+" "+name, func(t *testing.T) {
				refused(t, consumer.Delete(t.Context(), made(t, object(meta))), test.want)
			})
		}
	}
}

func TestConsumerChanges(t *testing.T) {
	consumer := inProvider(t)
	own, foreign := namespaceOf(t, held(mark())), namespaceOf(t, held(nil))
	for name, test := range map[string]struct {
		namespace string
		before    map[string]string
		patch     string
		want      string // Part of the refusal; empty: allowed.
	}{
		"an annotation": {own, mark(), `{"metadata":{"annotations":{"a":"b"}}}`, ""},
		"the origin":    {own, mark(), `{"metadata":{"labels":{"spillway.io/origin":"other"}}}`, markIsNot},
		"to no mark":    {own, mark(), `{"metadata":{"labels":null}}`, markIsNot},
		"to our mark, from none": {own, nil,
			`{"metadata":{"labels":{"spillway.io/managed-by":"spillway","spillway.io/origin":"origin","spillway.io/binding":"eu"}}}`,
			markWasNot},
		"to our origin, from another": {own, markBut(v1alpha1.LabelOrigin, "other"),
			`{"metadata":{"labels":{"spillway.io/origin":"origin"}}}`, markWasNot},
		"in a foreign namespace": {foreign, mark(), `{"metadata":{"annotations":{"a":"b"}}}`, notMarked},
	} {
		for kind, object := range inNamespaces {
			t.Run(kind+" "+name, func(t *testing.T) {
				there := made(t, object(metav1.ObjectMeta{Namespace: test.namespace, GenerateName: "object-", Labels: test.before}))
				refused(t, consumer.Patch(t.Context(), there, merge(test.patch)), test.want)
			})
		}
	}
}

// TestConsumerPutsMarkBack tests objects that have lost a label of the mark.
func TestConsumerPutsMarkBack(t *testing.T) {
	consumer := inProvider(t)
	own := namespaceOf(t, held(mark()))
	for name, test := range map[string]struct {
		kind  string
		uid   string
		patch string
		want  string // Part of the refusal; empty: allowed.
	}{
		"a pod that it knows":          {"pod", "uid", `{"metadata":{"labels":{"spillway.io/origin":"origin"}}}`, ""},
		"a pod that it does not know":  {"pod", "", `{"metadata":{"labels":{"spillway.io/origin":"origin"}}}`, markWasNot},
		"a pod that it says it knows":  {"pod", "", `{"metadata":{"labels":{"spillway.io/origin":"origin"},"annotations":{"spillway.io/local-uid":"uid"}}}`, markWasNot},
		"another pod than it was":      {"pod", "uid", `{"metadata":{"labels":{"spillway.io/origin":"origin"},"annotations":{"spillway.io/local-uid":"other"}}}`, markWasNot},
		"a pod, and change its image":  {"pod", "uid", `{"metadata":{"labels":{"spillway.io/origin":"origin"}},"spec":{"containers":[{"name":"c","image":"other"}]}}`, markWasNot},
		"a pod, of another origin":     {"pod", "uid", `{"metadata":{"labels":{"spillway.io/origin":"other"}}}`, markIsNot},
		"what is no pod, but a Secret": {"secret", "uid", `{"metadata":{"labels":{"spillway.io/origin":"origin"}}}`, markWasNot},
	} {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Namespace: own, GenerateName: "stripped-", Labels: markBut(v1alpha1.LabelOrigin, "")}
			if test.uid != "" {
				meta.Annotations = map[string]string{v1alpha1.AnnotationLocalUID: test.uid}
			}
			there := made(t, inNamespaces[test.kind](meta))
			refused(t, consumer.Patch(t.Context(), there, strategic(test.patch)), test.want)
		})
	}
}

// TestConsumerChangesRunningPods tests the subresources of pods.
func TestConsumerChangesRunningPods(t *testing.T) {
	consumer := inProvider(t)
	patches := map[string]string{
		"ephemeralcontainers": `{"spec":{"ephemeralContainers":[{"name":"debug","image":"image"}]}}`,
		"resize":              `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}`,
	}
	own, foreign := namespaceOf(t, held(mark())), namespaceOf(t, held(nil))
	for name, test := range map[string]struct {
		namespace string
		labels    map[string]string
		want      string // Part of the refusal; empty: allowed.
	}{
		"its own":                {own, mark(), ""},
		"of another origin":      {own, markBut(v1alpha1.LabelOrigin, "other"), markIsNot},
		"stripped":               {own, markBut(v1alpha1.LabelOrigin, ""), markIsNot},
		"in a foreign namespace": {foreign, mark(), notMarked},
	} {
		for subresource, patch := range patches {
			t.Run(subresource+" "+name, func(t *testing.T) {
				pod := made(t, podOf(metav1.ObjectMeta{Namespace: test.namespace, GenerateName: "pod-", Labels: test.labels}))
				err := consumer.SubResource(subresource).Patch(t.Context(), pod, strategic(patch))
				refused(t, err, test.want)
			})
		}
	}
}

// made creates an object as the administrator.
func made[T client.Object](t *testing.T, object T) T {
	t.Helper()
	if err := server(t).Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func merge(patch string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(patch))
}

func strategic(patch string) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, []byte(patch))
}
