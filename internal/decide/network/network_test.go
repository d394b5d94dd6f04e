package network_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func routed(name string, age time.Duration, cidrs ...v1alpha1.PodCIDR) v1alpha1.ClusterBinding {
	b := builder.Binding(name).Created(-age).Obj()
	b.Spec.Network = v1alpha1.ProviderNetwork{Mode: v1alpha1.NetworkRouted, PodCIDRs: cidrs}
	return *b
}

func node(name, kind string, cidrs ...string) corev1.Node {
	n := builder.Node(name).Obj()
	if kind != "" {
		n.Labels = map[string]string{v1alpha1.LabelNodeType: kind}
	}
	n.Spec.PodCIDRs = cidrs
	return *n
}

func TestCondition(t *testing.T) {
	const none = ": no addresses of the provider's pods are shown"
	isolated := *builder.Binding("us").Created(-time.Hour).Obj()
	tests := map[string]struct {
		binding v1alpha1.ClusterBinding
		others  []v1alpha1.ClusterBinding
		nodes   []corev1.Node
		want    string
	}{
		"isolated": {binding: *builder.Binding("eu").Obj(), want: "True Isolated: no addresses of the provider's pods are shown"},
		"isolated, with the mode": {binding: func() v1alpha1.ClusterBinding {
			b := routed("eu", 0)
			b.Spec.Network.Mode = v1alpha1.NetworkIsolated
			return b
		}(), others: []v1alpha1.ClusterBinding{routed("us", time.Hour, "10.8.0.0/14")}, want: "True Isolated: no addresses of the provider's pods are shown"},
		"routed": {binding: routed("eu", 0, "10.8.0.0/14", "fd00:8::/48"), others: []v1alpha1.ClusterBinding{isolated, routed("ap", time.Hour, "10.12.0.0/14")},
			nodes: []corev1.Node{node("a", "", "10.0.0.0/24")}, want: "True Routed: addresses of the provider's pods in 10.8.0.0/14, fd00:8::/48 are shown"},
		"an older one that is not routed has the same": {binding: routed("eu", 0, "10.8.0.0/14"), others: []v1alpha1.ClusterBinding{func() v1alpha1.ClusterBinding {
			b := routed("us", time.Hour, "10.8.0.0/14")
			b.Spec.Network.Mode = v1alpha1.NetworkIsolated
			return b
		}()}, want: "True Routed: addresses of the provider's pods in 10.8.0.0/14 are shown"},
		"an older one has the same": {binding: routed("eu", 0, "10.8.0.0/14"), others: []v1alpha1.ClusterBinding{routed("us", time.Hour, "10.8.0.0/14")},
			want: "False CIDROverlap: podCIDR 10.8.0.0/14 overlaps 10.8.0.0/14 of ClusterBinding us, which is older" + none},
		"a part of an older one's": {binding: routed("eu", 0, "10.8.1.0/24"), others: []v1alpha1.ClusterBinding{routed("us", time.Hour, "10.8.0.0/14")},
			want: "False CIDROverlap: podCIDR 10.8.1.0/24 overlaps 10.8.0.0/14 of ClusterBinding us, which is older" + none},
		"an older one has a part": {binding: routed("eu", 0, "10.0.0.0/8"), others: []v1alpha1.ClusterBinding{routed("us", time.Hour, "fd00::/8", "10.8.0.0/14")},
			want: "False CIDROverlap: podCIDR 10.0.0.0/8 overlaps 10.8.0.0/14 of ClusterBinding us, which is older" + none},
		"a younger one has the same": {binding: routed("eu", time.Hour, "10.8.0.0/14"), others: []v1alpha1.ClusterBinding{routed("us", 0, "10.8.0.0/14")},
			want: "True Routed: addresses of the provider's pods in 10.8.0.0/14 are shown"},
		"of the same second, the first by name": {binding: routed("eu", 0, "10.8.0.0/14"), others: []v1alpha1.ClusterBinding{routed("us", 0, "10.8.0.0/14")},
			want: "True Routed: addresses of the provider's pods in 10.8.0.0/14 are shown"},
		"the older one is refused itself": {binding: routed("eu", 0, "10.9.0.0/16"),
			others: []v1alpha1.ClusterBinding{routed("us", time.Hour, "10.8.0.0/14"), routed("ap", 2*time.Hour, "10.8.1.0/24")},
			want:   "True Routed: addresses of the provider's pods in 10.9.0.0/16 are shown"},
		"the older one does not hold its clusterID": {binding: routed("eu", 0, "10.8.0.0/14"), others: []v1alpha1.ClusterBinding{
			func() v1alpha1.ClusterBinding {
				b := routed("us", time.Hour, "10.8.0.0/14")
				b.Spec.ClusterID = "ap"
				return b
			}(), *builder.Binding("ap").Created(-2 * time.Hour).Obj()},
			want: "True Routed: addresses of the provider's pods in 10.8.0.0/14 are shown"},
		"the consumer has pods there": {binding: routed("eu", 0, "10.0.0.0/8"), nodes: []corev1.Node{node("b", "", "10.0.1.0/24"), node("a", "", "fd00::/64", "10.0.0.0/24")},
			want: "False CIDROverlap: podCIDR 10.0.0.0/8 overlaps 10.0.0.0/24 of the consumer's own pods" + none},
		"the other family": {binding: routed("eu", 0, "fd00::/48"), nodes: []corev1.Node{node("a", "", "10.0.0.0/24", "fd00::/64")},
			want: "False CIDROverlap: podCIDR fd00::/48 overlaps fd00::/64 of the consumer's own pods" + none},
		"a virtual node has no pods of its own": {binding: routed("eu", 0, "10.0.0.0/8"), nodes: []corev1.Node{node("a", v1alpha1.NodeTypeVirtual, "10.0.0.0/24")},
			want: "True Routed: addresses of the provider's pods in 10.0.0.0/8 are shown"},
		"a node says what cannot be read": {binding: routed("eu", 0, "10.0.0.0/8"), nodes: []corev1.Node{node("a", "", "10.0.0.0/99")},
			want: "True Routed: addresses of the provider's pods in 10.0.0.0/8 are shown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := network.Condition(&test.binding, placement.NewIndex(append(test.others, test.binding)), test.nodes)
			if diff := cmp.Diff(test.want, string(got.Status)+" "+got.Reason+": "+got.Message); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOf(t *testing.T) {
	with := func(b v1alpha1.ClusterBinding, generation int64, status metav1.ConditionStatus) *v1alpha1.ClusterBinding {
		b.Generation = 2
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BindingNetwork, Status: status, ObservedGeneration: generation}}
		return &b
	}
	eu := routed("eu", 0, "10.8.0.0/14", "rubbish")
	ranges := []netip.Prefix{netip.MustParsePrefix("10.8.0.0/14")}
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		want    network.Reach
	}{
		"isolated":                        {builder.Binding("eu").Obj(), network.Reach{}},
		"isolated, which is not said yet": {with(*builder.Binding("eu").Obj(), 1, "True"), network.Reach{}},
		"routed":                          {with(eu, 2, "True"), network.Reach{Ranges: ranges}},
		"refused":                         {with(eu, 2, "False"), network.Reach{}},
		"not decided":                     {&eu, network.Reach{Ranges: ranges, Pending: true}},
		"decided about others":            {with(eu, 1, "True"), network.Reach{Ranges: ranges, Pending: true}},
		"others were refused":             {with(eu, 1, "False"), network.Reach{Ranges: ranges, Pending: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := network.Of(test.binding)
			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !got.Equal(test.want) || got.Equal(network.Reach{Pending: !got.Pending, Ranges: got.Ranges}) {
				t.Error("it does not equal what it equals")
			}
		})
	}
}

// TestShows checks that only an address in a routed range that means the same on every node is shown.
func TestShows(t *testing.T) {
	reach := network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for text, want := range map[string]bool{
		"10.8.0.1": true, "fd00::1": true,
		"0.0.0.0": false, "127.0.0.1": false, "224.0.0.1": false, "169.254.0.1": false,
		"::": false, "::1": false, "ff02::1": false, "fe80::1": false, "fd00::1%eth0": false, "::ffff:10.8.0.1": false,
	} {
		ip := netip.MustParseAddr(text)
		if got := network.IsOfPods(ip); got != want {
			t.Errorf("%s may be a pod's: %t", text, got)
		}
		if got := reach.Shows(ip); got != want {
			t.Errorf("%s is shown: %t", text, got)
		}
	}
	if network.IsOfPods(netip.Addr{}) {
		t.Error("no address is a pod's")
	}
	if one := (network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/14"), netip.MustParsePrefix("fd00:8::/48")}}); one.Shows(netip.MustParseAddr("10.12.0.1")) || !one.Shows(netip.MustParseAddr("fd00:8::1")) {
		t.Error("one outside of the ranges is shown, or one in the second is not")
	}
	if (network.Reach{}).Shows(netip.MustParseAddr("10.8.0.1")) {
		t.Error("one is shown where nothing is routed")
	}
}

// TestEqual checks that both the ranges and Pending count.
func TestEqual(t *testing.T) {
	one := network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/14")}}
	other := network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("10.12.0.0/14")}}
	pending := network.Reach{Ranges: one.Ranges, Pending: true}
	same := network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/14")}}
	if !one.Equal(same) || one.Equal(other) || one.Equal(pending) || one.Equal(network.Reach{}) {
		t.Error("what is shown counts as the same though it is not, or the other way round")
	}
}
