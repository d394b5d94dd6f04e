package unreport

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestLeft: addresses stay while the provider may have the load balancer.
func TestLeft(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Annotations: map[string]string{
		"addresses.spillway.io/eu": "203.0.113.1", "example.com/eu": "x",
	}}}
	eu, paused := builder.Binding("eu").Obj(), builder.Binding("eu").Paused().Obj()
	for name, test := range map[string]struct {
		bindings []*v1alpha1.ClusterBinding
		nsm      *v1alpha1.NamespaceMap
		want     []string
	}{
		"mapped":                         {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Accepted("team", "team-home").Obj(), nil},
		"asked for":                      {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Desired("team", "team-home").Obj(), nil},
		"on its way out":                 {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, "", "").Obj(), nil},
		"not mapped":                     {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Accepted("other", "team").Obj(), []string{"eu"}},
		"not mapped, and paused":         {[]*v1alpha1.ClusterBinding{paused}, builder.Map("eu").Obj(), nil},
		"not known":                      {[]*v1alpha1.ClusterBinding{eu}, nil, nil},
		"mapped in another map":          {[]*v1alpha1.ClusterBinding{builder.Binding("a").ClusterID("eu").Obj()}, builder.Map("eu").Accepted("team", "team-home").Obj(), nil},
		"no binding":                     {nil, builder.Map("eu").Accepted("team", "team-home").Obj(), []string{"eu"}},
		"the binding of another cluster": {[]*v1alpha1.ClusterBinding{builder.Binding("eu").ClusterID("us").Obj()}, builder.Map("eu").Accepted("team", "team-home").Obj(), []string{"eu"}},
	} {
		var bindings []v1alpha1.ClusterBinding
		for _, binding := range test.bindings {
			bindings = append(bindings, *binding)
		}
		var maps []v1alpha1.NamespaceMap
		if test.nsm != nil {
			maps = append(maps, *test.nsm)
		}
		if got := staleReporters(addressed(service), service.Namespace, bindings, maps); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
