package endpointslice

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// TestKind checks that slices go where Services go, at most once a second. The slices of the consumer's API
// server are not sent.
func TestKind(t *testing.T) {
	slices, spec := Kind(), v1alpha1.NamespaceOffloadingSpec{}
	if !spec.Sends(slices.Resource) || slices.Resource != v1alpha1.OffloadedServices || !slices.Paced || slices.Most != 2000 {
		t.Errorf("sent with %s, paced: %t, at most %d", slices.Resource, slices.Paced, slices.Most)
	}
	for name, want := range map[types.NamespacedName]bool{
		{Namespace: "default", Name: "kubernetes"}: true,
		{Namespace: "team", Name: "kubernetes"}:    false,
		{Namespace: "default", Name: "web"}:        false,
	} {
		if got := slices.Never(name); got != want {
			t.Errorf("%s is never sent: %t", name, got)
		}
	}
}

// TestChoose: the pods that a Service selects are sent to routed providers only, and those
// that run there are not.
func TestChoose(t *testing.T) {
	ranges := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	selected := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}}}
	there, both := selected.DeepCopy(), selected.DeepCopy()
	there.Endpoints = []discoveryv1.Endpoint{{NodeName: ptr.To("eu")}}
	both.Endpoints = []discoveryv1.Endpoint{{NodeName: ptr.To("eu")}, {NodeName: ptr.To("us")}}
	for name, test := range map[string]struct {
		slice       *discoveryv1.EndpointSlice
		reach       network.Reach
		goes, known bool
	}{
		"of somebody":                     {&discoveryv1.EndpointSlice{}, network.Reach{}, true, true},
		"of somebody, not known":          {&discoveryv1.EndpointSlice{}, network.Reach{Ranges: ranges, Pending: true}, true, true},
		"of pods, isolated":               {both, network.Reach{}, false, true},
		"of pods, routed":                 {both, network.Reach{Ranges: ranges}, true, true},
		"of pods, routed, all there":      {there, network.Reach{Ranges: ranges}, false, true},
		"of pods, whether routed unknown": {both, network.Reach{Ranges: ranges, Pending: true}, true, false},
	} {
		if goes, known := (translation{}).Choose(test.slice, test.reach, decide.Inputs{Node: "eu"}); goes != test.goes || known != test.known {
			t.Errorf("%s: goes %t, known %t", name, goes, known)
		}
	}
}

// TestNotice: the owner is told what the remote slice lacks, and nothing else.
func TestNotice(t *testing.T) {
	remote := &discoveryv1.EndpointSlice{}
	if got := (translation{}).Notice(nil, remote, decide.Inputs{}); got != nil {
		t.Errorf("got %v", got)
	}
	remote.Annotations = map[string]string{v1alpha1.AnnotationLeftOut: "this"}
	want := &field.Problem{Reason: ReasonAddressesLeftOut, Message: "this"}
	if diff := cmp.Diff(want, translation{}.Notice(nil, remote, decide.Inputs{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
