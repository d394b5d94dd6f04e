package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestGatewayAPI: the CRDs serve the version whose types the product uses.
func TestGatewayAPI(t *testing.T) {
	objects, err := GatewayAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, crd.Spec.Names.Kind)
		if v := crd.Spec.Versions[0]; crd.Spec.Group != gatewayv1.GroupName || v.Name != gatewayv1.GroupVersion.Version || !v.Served || !v.Storage {
			t.Errorf("%s serves %s of %s", crd.Name, v.Name, crd.Spec.Group)
		}
		if channel := crd.Annotations["gateway.networking.k8s.io/channel"]; channel != "standard" {
			t.Errorf("%s is of the %s channel", crd.Name, channel)
		}
	}
	if diff := cmp.Diff([]string{"HTTPRoute", "GRPCRoute"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
