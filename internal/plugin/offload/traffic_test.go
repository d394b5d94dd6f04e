package offload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestUnreached(t *testing.T) {
	in := func(mode v1alpha1.NetworkMode) []v1alpha1.ClusterBinding {
		b := v1alpha1.ClusterBinding{}
		b.Spec.ClusterID, b.Spec.Network.Mode = "eu", mode
		b.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassIngress, Name: "eu-public"}}
		return []v1alpha1.ClusterBinding{b}
	}
	offloading := func(strategy v1alpha1.PodOffloadingStrategy, cluster string) *v1alpha1.NamespaceOffloading {
		o, err := Wanted{Strategy: string(strategy), Clusters: []string{cluster}}.offloading(nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	service := func(name string, selector map[string]string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	services := []corev1.Service{service("web", map[string]string{"app": "web"}), service("bare", nil)}
	ingress := func(name, class string) networkingv1.Ingress {
		return networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressSpec{IngressClassName: ptr.To(class)}}
	}
	ingresses := []networkingv1.Ingress{ingress("here", "nginx"), ingress("there", "eu-public")}
	for name, test := range map[string]struct {
		offloading *v1alpha1.NamespaceOffloading
		mode       v1alpha1.NetworkMode
		services   []corev1.Service
		want       string
	}{
		"isolated":          {offloading(v1alpha1.PodsRemote, "eu"), v1alpha1.NetworkIsolated, services, "send them nothing: Service web, Ingress here;"},
		"routed":            {offloading(v1alpha1.PodsRemote, "eu"), v1alpha1.NetworkRouted, services, ""},
		"without a Service": {offloading(v1alpha1.PodsRemote, "eu"), v1alpha1.NetworkIsolated, nil, "send them nothing: Ingress here;"},
		"in another":        {offloading(v1alpha1.PodsRemote, "us"), v1alpha1.NetworkIsolated, services, ""},
		"not offloaded":     {offloading(v1alpha1.PodsLocal, "eu"), v1alpha1.NetworkIsolated, services, ""},
	} {
		got := unreached(test.offloading, in(test.mode), test.services, ingresses)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q", name, got)
		}
		// Who may not read the ClusterBindings cannot tell them apart.
		hidden, says := unknown(test.offloading, test.services, ingresses), test.offloading.Spec.PodOffloadingStrategy != v1alpha1.PodsLocal
		if (hidden != "") != says || says && !strings.Contains(hidden, "Ingress here, Ingress there;") {
			t.Errorf("%s: a team reads %q", name, hidden)
		}
	}
}
