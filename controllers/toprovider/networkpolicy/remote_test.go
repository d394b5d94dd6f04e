package networkpolicy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// peers are two mapped namespaces and one that both clusters have.
var peers = []decide.PeerNamespace{
	{Labels: map[string]string{"kubernetes.io/metadata.name": "kube-system"}, Remote: "kube-system", Shared: true},
	{Labels: map[string]string{"kubernetes.io/metadata.name": "shop", "team": "b"}, Remote: "shop-eu"},
	{Labels: map[string]string{"kubernetes.io/metadata.name": "team", "team": "a"}, Remote: "team-eu"},
}

// policyOf returns the policy team/web with that spec.
func policyOf(t testing.TB, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "uid"},
		Spec:       *fieldtest.Parse[networkingv1.NetworkPolicySpec](t, spec),
	}
}

func inNames(names string) string {
	return `namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [` + names + `]}]}`
}

// TestNetworkPolicyPeers checks the peers of one ingress rule, and of an egress rule with the same
// peers.
func TestNetworkPolicyPeers(t *testing.T) {
	const left = "left"
	for name, test := range map[string]struct {
		peers, want string // left means that the rule is left out.
		omitted     []field.Omission
	}{
		"nobody in particular":        {`[]`, `[]`, nil},
		"addresses":                   {`[{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]`, `[{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]`, nil},
		"pods of its namespace":       {`[{podSelector: {matchLabels: {app: a}}}]`, `[{podSelector: {matchLabels: {app: a}}}]`, nil},
		"all pods of its namespace":   {`[{podSelector: {}}]`, `[{podSelector: {}}]`, nil},
		"all namespaces":              {`[{namespaceSelector: {}}]`, `[{` + inNames("kube-system, shop-eu, team-eu") + `}]`, nil},
		"pods of all namespaces":      {`[{namespaceSelector: {}, podSelector: {matchLabels: {app: a}}}]`, `[{` + inNames("kube-system, shop-eu, team-eu") + `, podSelector: {matchLabels: {app: a}}}]`, nil},
		"a namespace by its label":    {`[{namespaceSelector: {matchLabels: {team: b}}}]`, `[{` + inNames("shop-eu") + `}]`, nil},
		"a namespace by its name":     {`[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}]`, `[{` + inNames("shop-eu") + `}]`, nil},
		"namespaces without a label":  {`[{namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}]`, `[{` + inNames("kube-system") + `}]`, nil},
		"the name of one over there":  {`[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop-eu}}}]`, left, []field.Omission{{Field: "[0]", Why: noNamespace}, {Field: "", Why: noPeer}}},
		"one of two":                  {`[{namespaceSelector: {matchLabels: {team: c}}}, {podSelector: {}}]`, `[{podSelector: {}}]`, []field.Omission{{Field: "[0]", Why: noNamespace}}},
		"none of two":                 {`[{namespaceSelector: {matchLabels: {team: c}}}, {}]`, left, []field.Omission{{Field: "[0]", Why: noNamespace}, {Field: "[1]", Why: unknownPeer}, {Field: "", Why: noPeer}}},
		"pods by a label of ours":     {`[{podSelector: {matchLabels: {spillway.io/origin: x}}}]`, left, []field.Omission{{Field: "[0]", Why: unsent("spillway.io/origin")}, {Field: "", Why: noPeer}}},
		"pods by the zone":            {`[{podSelector: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [a]}]}}]`, left, []field.Omission{{Field: "[0]", Why: unsent("topology.kubernetes.io/zone")}, {Field: "", Why: noPeer}}},
		"pods by a label not allowed": {`[{podSelector: {matchExpressions: [{key: other.example.com/x, operator: DoesNotExist}]}}]`, `[{podSelector: {matchExpressions: [{key: label.other.example.com.spillway.io/x, operator: DoesNotExist}]}}]`, nil},
		"pods by a label allowed":     {`[{podSelector: {matchLabels: {example.com/x: a}}}]`, `[{podSelector: {matchLabels: {label.example.com.spillway.io/x: a}}}]`, nil},
		"pods of all by an alias": {`[{namespaceSelector: {}, podSelector: {matchLabels: {other.example.com/x: a}}}]`,
			`[{` + inNames("shop-eu, team-eu") + `, podSelector: {matchLabels: {label.other.example.com.spillway.io/x: a}}}, {` + inNames("kube-system") + `, podSelector: {matchLabels: {other.example.com/x: a}}}]`, nil},
		"pods of one by an alias":     {`[{namespaceSelector: {matchLabels: {team: b}}, podSelector: {matchLabels: {other.example.com/x: a}}}]`, `[{` + inNames("shop-eu") + `, podSelector: {matchLabels: {label.other.example.com.spillway.io/x: a}}}]`, nil},
		"pods of all by one not sent": {`[{namespaceSelector: {}, podSelector: {matchLabels: {spillway.io/x: a, other.example.com/x: a}}}]`, `[{` + inNames("kube-system") + `, podSelector: {matchLabels: {spillway.io/x: a, other.example.com/x: a}}}]`, []field.Omission{{Field: "[0]", Why: unsent("spillway.io/x")}}},
		"pods of one by one not sent": {`[{namespaceSelector: {matchLabels: {team: b}}, podSelector: {matchLabels: {reserved: a}}}]`, left, []field.Omission{{Field: "[0]", Why: unsent("reserved")}, {Field: "", Why: noPeer}}},
		"an invalid selector":         {`[{namespaceSelector: {matchExpressions: [{key: team, operator: Near}]}}]`, left, []field.Omission{{Field: "[0]", Why: `its namespaceSelector is invalid: "Near" is not a valid label selector operator`}, {Field: "", Why: noPeer}}},
	} {
		t.Run(name, func(t *testing.T) {
			const rule = `{podSelector: {matchLabels: {app: web}}, ingress: [{from: %s, ports: [{port: http}]}], egress: [{to: %s, ports: [{port: 1, endPort: 9, protocol: SCTP}]}], policyTypes: [Ingress, Egress]}`
			local := policyOf(t, fmt.Sprintf(rule, test.peers, test.peers))
			before := local.DeepCopy()
			want := policyOf(t, fmt.Sprintf(rule, strings.ReplaceAll(test.want, left, "[]"), strings.ReplaceAll(test.want, left, "[]")))
			if test.want == left {
				want.Spec.Ingress, want.Spec.Egress = nil, nil
			}
			want.ObjectMeta = metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf(";")}
			var omitted []field.Omission
			for _, direction := range []string{"spec.ingress[0].from", "spec.egress[0].to"} {
				for _, o := range test.omitted {
					path := direction + o.Field
					if o.Field == "" {
						path, _, _ = strings.Cut(direction, "].")
						path += "]"
					}
					omitted = append(omitted, field.Omission{Field: path, Why: o.Why})
				}
			}
			if said := field.Omitted(omitted); said != "" {
				want.Annotations[v1alpha1.AnnotationLeftOut] = said
			}
			remote, gone, refusal := toRemote(local, fieldtest.Mapped, &field.Limits{MetadataKeys: []string{"example.com/"}, ReservedKeys: []string{"reserved"}}, func() []decide.PeerNamespace { return peers })
			if refusal != nil {
				t.Fatal(refusal)
			}
			for i := range want.Spec.Ingress { // A rule without peers has nil, not an empty list.
				if len(want.Spec.Ingress[i].From) == 0 {
					want.Spec.Ingress[i].From, want.Spec.Egress[i].To = nil, nil
				}
			}
			if diff := cmp.Diff(want, remote); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(omitted, gone); diff != "" {
				t.Errorf("what was left out (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local policy was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestPolicyTypes: without types, a policy gets the API server's defaults, even if no rule is left.
func TestPolicyTypes(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"none":              {`{podSelector: {}}`, `{podSelector: {}, policyTypes: [Ingress]}`},
		"none, and egress":  {`{podSelector: {}, egress: [{}]}`, `{podSelector: {}, egress: [{}], policyTypes: [Ingress, Egress]}`},
		"ingress":           {`{podSelector: {}, egress: [{}], policyTypes: [Ingress]}`, `{podSelector: {}, egress: [{}], policyTypes: [Ingress]}`},
		"egress":            {`{podSelector: {}, policyTypes: [Egress]}`, `{podSelector: {}, policyTypes: [Egress]}`},
		"egress that is no": {`{podSelector: {}, egress: [{to: [{namespaceSelector: {matchLabels: {team: c}}}]}]}`, `{podSelector: {}, policyTypes: [Ingress, Egress]}`},
	} {
		t.Run(name, func(t *testing.T) {
			remote, _, refusal := toRemote(policyOf(t, test.spec), fieldtest.Mapped, nil, func() []decide.PeerNamespace { return peers })
			if diff := cmp.Diff(policyOf(t, test.want).Spec, remote.Spec); diff != "" || refusal != nil {
				t.Errorf("%v, (-want +got):\n%s", refusal, diff)
			}
		})
	}
}

// TestNetworkPolicyRefusals: policies that would apply to other pods than in the consumer are refused.
func TestNetworkPolicyRefusals(t *testing.T) {
	selects := func(key string) *field.Problem {
		return &field.Problem{Reason: field.ReasonSelectorNotSent, Message: "NetworkPolicy web: spec.podSelector uses the label " + key + ", which is not sent: it would select other pods in the provider"}
	}
	for name, test := range map[string]struct {
		manifest string
		want     *field.Problem
	}{
		"plain":            {`{spec: {podSelector: {matchLabels: {app: a, app.kubernetes.io/name: b}}}}`, nil},
		"allowed":          {`{spec: {podSelector: {matchLabels: {example.com/x: a}}}}`, nil},
		"by our label":     {`{spec: {podSelector: {matchLabels: {app: a, spillway.io/x: a}}}}`, selects("spillway.io/x")},
		"by the region":    {`{spec: {podSelector: {matchExpressions: [{key: topology.kubernetes.io/region, operator: Exists}]}}}`, selects("topology.kubernetes.io/region")},
		"by an alias":      {`{spec: {podSelector: {matchLabels: {z.example.com/x: a, y.example.com/x: a}}}}`, nil},
		"by reserved ones": {`{spec: {podSelector: {matchLabels: {zone: a, reserved: a, z.example.com/x: a}}}}`, selects("reserved")},
		"by its own alias": {`{spec: {podSelector: {matchLabels: {label.z.example.com.spillway.io/x: a}}}}`, selects("label.z.example.com.spillway.io/x")},
		"to be kept":       {`{metadata: {annotations: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "NetworkPolicy web has spillway.io/sync=never"}},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.Parse[networkingv1.NetworkPolicy](t, test.manifest)
			local.Name = "web"
			remote, _, refusal := toRemote(local, fieldtest.Mapped, &field.Limits{MetadataKeys: []string{"example.com/"}, ReservedKeys: []string{"reserved", "zone"}}, nil)
			if diff := cmp.Diff(test.want, refusal); diff != "" || (remote == nil) != (refusal != nil) {
				t.Errorf("%v, (-want +got):\n%s", remote, diff)
			}
		})
	}
}

// TestPolicyNames: the number of names is limited. A peer that would exceed the limit is left out.
func TestPolicyNames(t *testing.T) {
	var many []decide.PeerNamespace
	for i := range mostPolicyNames {
		many = append(many, decide.PeerNamespace{Labels: map[string]string{"odd": fmt.Sprint(i % 2)}, Remote: fmt.Sprintf("ns-%060d", i)})
	}
	local := policyOf(t, `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}, {from: [{namespaceSelector: {matchLabels: {odd: "1"}}}]}]}`)
	remote, omitted, _ := toRemote(local, fieldtest.Mapped, nil, func() []decide.PeerNamespace { return many })
	want := []field.Omission{{Field: "spec.ingress[1].from[0]", Why: "the policy would name more than 5000 namespaces of the provider"}, {Field: "spec.ingress[1]", Why: noPeer}}
	if diff := cmp.Diff(want, omitted); diff != "" || len(remote.Spec.Ingress) != 1 || remote.Size() > 1<<19 {
		t.Errorf("%d bytes, (-want +got):\n%s", remote.Size(), diff)
	}
}

// TestPolicySelectors: the number of selectors is limited, which limits the cost of a policy.
func TestPolicySelectors(t *testing.T) {
	peer := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
	local := &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}}}
	for range mostPolicySelectors + 1 {
		local.Spec.Ingress[0].From = append(local.Spec.Ingress[0].From, peer)
	}
	remote, omitted, _ := toRemote(local, fieldtest.Mapped, nil, func() []decide.PeerNamespace { return []decide.PeerNamespace{{Remote: "ns"}} })
	want := []field.Omission{{Field: "spec.ingress[0].from[200]", Why: "the policy has more than 200 namespaceSelectors"}}
	if diff := cmp.Diff(want, omitted); diff != "" || len(remote.Spec.Ingress[0].From) != mostPolicySelectors {
		t.Errorf("%d peers, (-want +got):\n%s", len(remote.Spec.Ingress[0].From), diff)
	}
}

func TestOmitted(t *testing.T) {
	for name, test := range map[string]struct {
		all  []field.Omission
		want string
	}{
		"nothing": {nil, ""},
		"one":     {[]field.Omission{{Field: "spec.ingress[0]", Why: "why"}}, "left out, so the provider allows less than the consumer: spec.ingress[0] (why)"},
		"four":    {[]field.Omission{{Field: "a", Why: "x"}, {Field: "b", Why: "x"}, {Field: "c", Why: "x"}, {Field: "d", Why: "x"}}, "left out, so the provider allows less than the consumer: a (x), b (x), c (x) and 1 more"},
		"long":    {[]field.Omission{{Field: "a", Why: strings.Repeat("é", 1000)}}, "left out, so the provider allows less than the consumer: a (" + strings.Repeat("é", 470)},
	} {
		if got := field.Omitted(test.all); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestMergeNetworkPolicy: the merge corrects the spec and the annotation about what was left out.
func TestMergeNetworkPolicy(t *testing.T) {
	sent := func(spec string, changes ...func(*networkingv1.NetworkPolicy)) *networkingv1.NetworkPolicy {
		remote, _, refusal := toRemote(policyOf(t, spec), fieldtest.Mapped, nil, func() []decide.PeerNamespace { return peers })
		if refusal != nil {
			t.Fatal(refusal)
		}
		for _, change := range changes {
			change(remote)
		}
		return remote
	}
	const plain, narrowed = `{podSelector: {}, policyTypes: [Ingress]}`, `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: c}}}]}], policyTypes: [Ingress]}`
	theirs := func(p *networkingv1.NetworkPolicy) { p.Annotations["example.com/theirs"] = "x" }
	for name, test := range map[string]struct{ desired, remote, want *networkingv1.NetworkPolicy }{
		"the same":                      {sent(plain), sent(plain), nil},
		"the same, and of the provider": {sent(plain), sent(plain, theirs), nil},
		"opened there": {sent(plain), sent(plain, theirs, func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
		}), sent(plain, theirs)},
		"something is left out now":     {sent(narrowed), sent(plain), sent(narrowed)},
		"nothing is left out any more":  {sent(plain), sent(narrowed, theirs), sent(plain, theirs)},
		"something else is left out":    {sent(narrowed), sent(narrowed, func(p *networkingv1.NetworkPolicy) { p.Annotations[v1alpha1.AnnotationLeftOut] = "x" }), sent(narrowed)},
		"the same is, and nothing more": {sent(narrowed), sent(narrowed), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.remote.DeepCopy()
			got := merge(test.desired, test.remote)
			want := test.want
			if want == nil {
				want = test.remote
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.remote); diff != "" {
				t.Errorf("the remote policy was changed (-before +after):\n%s", diff)
			}
		})
	}
	if sent(plain).Annotations[v1alpha1.AnnotationLeftOut] != "" || sent(narrowed).Spec.Ingress != nil || field.LeftOut(sent(narrowed)) == "" {
		t.Error("the test shows nothing")
	}
}

func TestSelectedBy(t *testing.T) {
	for name, test := range map[string]struct {
		selector string
		want     bool
	}{
		"all":                           {`{}`, true},
		"it":                            {`{matchLabels: {app: web}}`, true},
		"another":                       {`{matchLabels: {app: db}}`, false},
		"invalidly":                     {`{matchExpressions: [{key: app, operator: Near}]}`, true},
		"there":                         {`{matchLabels: {label.example.com.spillway.io/x: a}, matchExpressions: [{key: label.example.com.spillway.io/y, operator: DoesNotExist}]}`, true},
		"not there":                     {`{matchLabels: {label.example.com.spillway.io/x: b}}`, false},
		"here, by the alias of a label": {`{matchExpressions: [{key: label.example.com.spillway.io/x, operator: DoesNotExist}]}`, true},
	} {
		if got := selectedBy(policyOf(t, `{podSelector: `+test.selector+`}`), map[string]string{"app": "web", "example.com/x": "a"}); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
