package clusterbinding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestShared(t *testing.T) {
	const of, pretends = "ClusterBinding eu (clusterID eu) is older and uses the same provider", "the provider of ClusterBinding xx (clusterID xx) claims to be the same cluster"
	eu := builder.Binding("eu").Pinned("uid").Authorities("ca")
	xx := builder.Binding("xx").Pinned("uid").Authorities("its own")
	for name, test := range map[string]struct {
		others []*builder.BindingBuilder
		want   string
		says   []string
	}{
		"alone":                     {nil, "", nil},
		"with an older one":         {[]*builder.BindingBuilder{eu}, "True ProviderSharedWith", []string{of}},
		"with one that pretends it": {[]*builder.BindingBuilder{xx}, "Unknown IdentityNotProven", []string{pretends}},
		"with both":                 {[]*builder.BindingBuilder{xx, eu}, "True ProviderSharedWith", []string{of, pretends}},
	} {
		t.Run(name, func(t *testing.T) {
			us := builder.Binding("us").Pinned("uid").Authorities("ca").Created(time.Hour).Obj()
			all := []v1alpha1.ClusterBinding{*us}
			for _, other := range test.others {
				all = append(all, *other.Obj())
			}
			status := Decide(snapshot{Binding: us, Bindings: placement.NewIndex(all)})
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingShared)
			if c == nil {
				if test.want != "" {
					t.Error("nothing is said")
				}
				return
			}
			alone := snapshot{Binding: us.DeepCopy(), Bindings: placement.NewIndex([]v1alpha1.ClusterBinding{*us})}
			alone.Binding.Status = status
			if left := Decide(alone); meta.FindStatusCondition(left.Conditions, v1alpha1.BindingShared) != nil {
				t.Error("it is said when the other one is gone")
			}
			if both := strings.Count(c.Message, "; "); len(test.says) == 1 && strings.HasSuffix(c.Message, "; ") || len(test.says) == 2 && both == 0 {
				t.Errorf("it says %q", c.Message)
			}
			if got := fmt.Sprint(c.Status, " ", c.Reason); got != test.want || slices.ContainsFunc(test.says, func(s string) bool { return !strings.Contains(c.Message, s) }) {
				t.Errorf("got %s: %s", got, c.Message)
			}
		})
	}
}

// TestNothingLeft checks that a node without room for pods names the binding that leaves it none.
func TestNothingLeft(t *testing.T) {
	const nothing = "Node spillway-us has no capacity for pods: ClusterBinding eu is older, uses the same provider, and offers all of it"
	us := builder.Binding("us").Pinned("uid").Authorities("ca").Created(time.Hour).Obj()
	eu := builder.Binding("eu").Pinned("uid").Authorities("ca").Obj()
	for name, test := range map[string]struct {
		cpu, pods string
		others    []v1alpha1.ClusterBinding
		want      string
	}{
		"alone, and without nodes":     {"0", "0", nil, ""},
		"with an older one, and a bit": {"0", "10", []v1alpha1.ClusterBinding{*eu}, ""},
		"with cpu, and no room":        {"4", "0", []v1alpha1.ClusterBinding{*eu}, nothing},
		"with an older one":            {"0", "0", []v1alpha1.ClusterBinding{*eu}, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			node := builder.Node("spillway-us").OwnedBy(us).Obj()
			node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(test.cpu), corev1.ResourcePods: resource.MustParse(test.pods)}
			status := Decide(snapshot{Binding: us, Bindings: placement.NewIndex(append(test.others, *us)), Node: node})
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingVirtualNodeReady); c.Reason != v1alpha1.ReasonNodeReady || c.Message != test.want {
				t.Errorf("got %s: %s", c.Reason, c.Message)
			}
		})
	}
}

func TestAuthorities(t *testing.T) {
	full := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
	for name, test := range map[string]struct {
		uid         string
		known       []string
		link        connection.State
		wantUID     string
		authorities []string
	}{
		"not connected yet":   {"", nil, connection.State{}, "", nil},
		"connected":           {"", nil, connection.State{UID: "uid", Authority: "ca"}, "uid", []string{"ca"}},
		"known":               {"uid", []string{"ca"}, connection.State{UID: "uid", Authority: "ca"}, "uid", []string{"ca"}},
		"another vouches":     {"uid", []string{"ca"}, connection.State{UID: "uid", Authority: "next"}, "uid", []string{"ca", "next"}},
		"the first again":     {"uid", []string{"ca", "next"}, connection.State{UID: "uid", Authority: "ca"}, "uid", []string{"ca", "next"}},
		"another cluster":     {"uid", []string{"ca"}, connection.State{UID: "other", Authority: "its own"}, "uid", []string{"ca"}},
		"away":                {"uid", []string{"ca"}, connection.State{}, "uid", []string{"ca"}},
		"there are too many":  {"uid", full, connection.State{UID: "uid", Authority: "9"}, "uid", full},
		"not who, but nobody": {"uid", nil, connection.State{UID: "uid"}, "uid", nil},
	} {
		t.Run(name, func(t *testing.T) {
			us := builder.Binding("us").Pinned(test.uid).Authorities(test.known...).Obj()
			got := Decide(snapshot{Binding: us, Connection: test.link})
			if got.RemoteClusterUID != test.wantUID {
				t.Errorf("it is pinned to %q", got.RemoteClusterUID)
			}
			if diff := cmp.Diff(test.authorities, got.RemoteClusterAuthorities); diff != "" {
				t.Errorf("authorities (-want +got)\n%s", diff)
			}
		})
	}
}
