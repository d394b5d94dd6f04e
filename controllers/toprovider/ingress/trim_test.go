package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/field"
)

// TestHeldIngresses checks that an Ingress with too much of anything keeps only its class, so that it is
// refused. That includes an Ingress whose annotations are not held, because they may restrict access to it.
func TestHeldIngresses(t *testing.T) {
	kind := Kind()
	rules := []networkingv1.IngressRule{{Host: "a.example.com"}}
	for name, test := range map[string]struct {
		rules      []networkingv1.IngressRule
		annotation string
		cut        bool
	}{
		"what is sent":      {rules, "x", false},
		"many rules":        {make([]networkingv1.IngressRule, 1000), "x", true},
		"a long annotation": {rules, strings.Repeat("x", field.MostMetadata), true},
	} {
		ingress := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": test.annotation, v1alpha1.AnnotationAddressesPrefix + "eu": "203.0.113.1"}},
			Spec:       networkingv1.IngressSpec{IngressClassName: ptr.To("public"), Rules: test.rules},
		}
		for range 2 {
			got := views.Trim(ingress, kind.TrimAny).(*networkingv1.Ingress)
			if cut := len(got.Spec.Rules) == 0; cut != test.cut || *got.Spec.IngressClassName != "public" || got.Annotations[v1alpha1.AnnotationAddressesPrefix+"eu"] == "" {
				t.Errorf("%s: held %v", name, got)
			}
		}
	}
}
