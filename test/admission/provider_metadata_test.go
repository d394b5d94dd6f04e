package admission

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field"
)

const notLetIn = "metadata.labels and metadata.annotations may have new keys only if metadataKeys of ConfigMap spillway-provider/limits lists them"

// carrying returns the kinds whose labels and annotations the provider's controllers see, each with an object
// that a consumer may create.
func carrying(namespace string) map[string]func(labels, annotations map[string]string) client.Object {
	kinds := map[string]func(labels, annotations map[string]string) client.Object{
		"volume": func(labels, annotations map[string]string) client.Object {
			return volumeOf(metav1.ObjectMeta{Name: "keys-0123456789abcdef0123456789abcdef", Labels: labels, Annotations: annotations})
		},
	}
	for kind, object := range inNamespaces {
		kinds[kind] = func(labels, annotations map[string]string) client.Object {
			return object(metav1.ObjectMeta{Namespace: namespace, Name: "object", Labels: labels, Annotations: annotations})
		}
	}
	return kinds
}

// marked returns the mark with more labels.
func marked(more map[string]string) map[string]string {
	labels := markOf(shippedAccount)
	maps.Copy(labels, more)
	return labels
}

// TestConsumerCommandsNobody tests the shipped limits: they refuse known commands to controllers, on each
// kind of object.
func TestConsumerCommandsNobody(t *testing.T) {
	consumer := inProvider(t)
	for kind, object := range carrying(namespaceOf(t, held(mark()))) {
		for key, want := range map[string]string{
			"app": "", "pod-template-hash": "", "app.kubernetes.io/name": "", "helm.sh/chart": "", "checksum/config": "",
			"batch.kubernetes.io/job-completion-index": "", "statefulset.kubernetes.io/pod-name": "", "kubectl.kubernetes.io/restartedAt": "",
			"cluster-autoscaler.kubernetes.io/safe-to-evict": "", "karpenter.sh/do-not-disrupt": "", "karpenter.sh/nodepool": notLetIn,
			"reflector.v1.k8s.emberstack.com/reflection-auto-enabled": notLetIn, "iam.amazonaws.com/role": notLetIn,
			"k8s.v1.cni.cncf.io/networks": notLetIn, "sidecar.istio.io/inject": notLetIn, "cluster-autoscaler.kubernetes.io/scale-down-disabled": notLetIn,
			"label.iam.amazonaws.com.spillway.io/role": "", "grafana_dashboard": notLetIn, "aadpodidbinding": notLetIn,
		} {
			one := map[string]string{key: "x"}
			t.Run(kind+" with the label "+key, func(t *testing.T) {
				refused(t, consumer.Create(t.Context(), object(marked(one), nil), client.DryRunAll), want)
			})
			t.Run(kind+" with the annotation "+key, func(t *testing.T) {
				refused(t, consumer.Create(t.Context(), object(marked(nil), one), client.DryRunAll), want)
			})
		}
	}
}

// TestConsumerUnderALimitRange tests pods that the API server fills with a LimitRange's defaults. It records
// that in an annotation, which policies see.
func TestConsumerUnderALimitRange(t *testing.T) {
	consumer := inProvider(t)
	namespace := namespaceOf(t, held(mark()))
	temporary(t, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memory"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}}},
	}})
	var last error
	filled := func(ctx context.Context) (bool, error) { // The API server sees it through a watch.
		pod := podOf(metav1.ObjectMeta{Namespace: namespace, Name: "pod", Labels: mark()})
		last = consumer.Create(ctx, pod, client.DryRunAll)
		return last != nil || pod.Annotations["kubernetes.io/limit-ranger"] != "", nil
	}
	if err := eventually(t.Context(), filled); err != nil || last != nil {
		t.Errorf("%v, refused: %v", err, last)
	}
}

// TestConsumerKeepsOldKeys tests objects that were sent before: the consumer can still change and clean them,
// but cannot add a command.
func TestConsumerKeepsOldKeys(t *testing.T) {
	consumer := inProvider(t)
	old := map[string]string{"iam.amazonaws.com/role": "reader"}
	for kind, object := range carrying(namespaceOf(t, held(mark()))) {
		there := temporary(t, object(marked(old), old))
		for name, test := range map[string]struct{ patch, want string }{
			"is changed elsewhere":          {`{"metadata":{"annotations":{"plain":"b"},"labels":{"plain":"b"}}}`, ""},
			"loses the label":               {`{"metadata":{"labels":{"iam.amazonaws.com/role":null}}}`, ""},
			"loses the annotation":          {`{"metadata":{"annotations":{"iam.amazonaws.com/role":null}}}`, ""},
			"gets another label":            {`{"metadata":{"labels":{"sidecar.istio.io/inject":"true"}}}`, notLetIn},
			"gets another annotation":       {`{"metadata":{"annotations":{"sidecar.istio.io/inject":"true"}}}`, notLetIn},
			"gets a label of another value": {`{"metadata":{"labels":{"iam.amazonaws.com/role":"admin"}}}`, notLetIn},
			"gets an annotation of another value": {
				`{"metadata":{"annotations":{"iam.amazonaws.com/role":"admin"}}}`, notLetIn},
		} {
			t.Run("a "+kind+" "+name, func(t *testing.T) {
				refused(t, patching(consumer, there, test.patch)(t.Context()), test.want)
			})
		}
	}
}

// TestKeysOfMetadata compares what the policy allows with what internal/field sends, under limits of
// every form.
func TestKeysOfMetadata(t *testing.T) {
	limits := changing(t)
	consumer, namespace := limits.consumer, namespaceIn(t, spare(t), held(mark()))
	data := map[string]string{
		"namePattern": ".+", "metadataKeys": " example.com/ ,\n, single.example.com/one,a.b/,spillway.io.example.com/,no.example.com/\u00a0",
		"reservedKeys": "reserved, example.com/reserved,\n single.example.com/, app.kubernetes.io/name, spillway.io/, domain/, karpenter.sh/do-not-disrupt",
	}
	limits.become(t, data)
	inOne := func(key string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "object", Labels: mark(), Annotations: map[string]string{key: "x"}}}
	}
	becomes(t, consumer, inOne("reserved"), notLetIn)
	sends := field.LimitsOf(data)
	if sends.Unknown != nil {
		t.Fatal(sends.Unknown)
	}
	for key, want := range map[string]bool{
		"plain": true, "with.dots": true, "example.com": true, "app.kubernetes.io": true, "spillway.io": true, "domain": false,
		"reserved": false, "reserved2": true,
		"example.com/any": true, "example.com/reserved": false, "example.com/reserved2": true, "sub.example.com/any": false, "xexample.com/any": false,
		"single.example.com/one": false, "single.example.com/two": false, "a.b/c": true, "a.b.c/c": false, "no.example.com/any": true,
		"app.kubernetes.io/name": true, "x.app.kubernetes.io/name": false, "batch.kubernetes.io/x": true, "kubernetes.io/x": false,
		"kubernetes.io/limit-ranger": true, "kubernetes.io/limit-ranger2": false, "karpenter.sh/do-not-disrupt": false, "cluster-autoscaler.kubernetes.io/safe-to-evict": true,
		"container.apparmor.security.beta.kubernetes.io/c": true,
		"spillway.io/x": true, "x.spillway.io/x": true, "xspillway.io/x": false, "spillway.io.example.com/x": true, "spillway.io.other.com/x": false,
	} {
		t.Run(key, func(t *testing.T) {
			if got := sends.Sends(key); got != want {
				t.Errorf("it is sent: %t, want %t", got, want)
			}
			refusal := notLetIn
			if want {
				refusal = ""
			}
			refused(t, consumer.Create(t.Context(), inOne(key), client.DryRunAll), refusal)
		})
	}
}
