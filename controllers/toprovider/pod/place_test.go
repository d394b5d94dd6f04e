package pod

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// zoned is a provider whose nodes have a zone and a type, and in which three namespaces of the consumer are.
var zoned = decide.Inputs{
	Limits: fieldtest.Generous,
	NodesHave: func(_ *corev1.Pod, key string) (some, all, known bool) {
		all = key == corev1.LabelTopologyZone || key == corev1.LabelInstanceTypeStable
		return all || key == "pool", all, true
	},
	Here: func(namespace string) ([]corev1.Pod, bool) {
		pod := func(app string, phase corev1.PodPhase) (pod corev1.Pod) {
			pod.Labels, pod.Status.Phase = map[string]string{"app": app}, phase
			return pod
		}
		leaving, refused, rejected := pod("leaving", corev1.PodRunning), pod("refused", corev1.PodPending), pod("rejected", corev1.PodPending)
		leaving.DeletionTimestamp, refused.Spec.HostNetwork = &metav1.Time{}, true
		leaving.DeletionTimestamp.Time = builder.Epoch
		rejected.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRejected}}
		self := *rejected.DeepCopy()
		self.UID, self.Labels = "uid", map[string]string{"app": "self"}
		return map[string][]corev1.Pod{
			"team": {pod("web", corev1.PodPending), pod("done", corev1.PodSucceeded), leaving, refused, rejected, self}, "other": {pod("web", corev1.PodRunning)},
		}[namespace], namespace != "third"
	},
	Peers: func() []decide.PeerNamespace {
		of := func(name string) map[string]string {
			return map[string]string{corev1.LabelMetadataName: name, "by": "us"}
		}
		return []decide.PeerNamespace{
			{Labels: of("kube-system"), Remote: "kube-system", Shared: true}, {Labels: of("team"), Remote: "team-eu"},
			{Labels: of("other"), Remote: "other-eu"}, {Labels: map[string]string{corev1.LabelMetadataName: "third"}, Remote: "third-eu"},
		}
	},
}

// placed returns a pod with these fields of the spec, and its remote pod.
func placed(t *testing.T, spec string, target field.Target, in decide.Inputs) (local, remote *corev1.Pod) {
	t.Helper()
	local = fieldtest.PodOf(t, `{metadata: {labels: {app: web, pod-template-hash: h1, example.com/role: a}}, spec: {containers: [{name: web}], `+spec+`}}`)
	plan := Syncer{}.SyncToRemote(snapshot{
		ObjectState: decide.ObjectState[*corev1.Pod]{Local: local, Inputs: in},
		RemoteState: decide.RemoteState[*corev1.Pod]{Destination: decide.Destination{Target: target, Open: true}},
	})
	if len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Create {
		t.Fatalf("it is not sent: %+v", plan)
	}
	return local, plan.Actions[0].Object.(*corev1.Pod)
}

func TestPlace(t *testing.T) {
	const web, ours = `labelSelector: {matchLabels: {app: web}}`, `labelSelector: {matchLabels: {app: web, spillway.io/account: us}}`
	const host, zone, rack = `topologyKey: kubernetes.io/hostname`, `topologyKey: topology.kubernetes.io/zone`, `topologyKey: rack`
	const hard, soft, honor = `whenUnsatisfiable: DoNotSchedule`, `whenUnsatisfiable: ScheduleAnyway`, `nodeTaintsPolicy: Honor`
	const ofSet = `labelSelector: {matchLabels: {app: web}, matchExpressions: [{key: pod-template-hash, operator: In, values: [h1]}]}`
	spread := func(all string) string { return `topologySpreadConstraints: [` + all + `]` }
	required := func(kind, all string) string {
		return `affinity: {` + kind + `: {requiredDuringSchedulingIgnoredDuringExecution: [` + all + `]}}`
	}
	apart := func(all string) string { return required("podAntiAffinity", all) }
	together := func(all string) string { return required("podAffinity", all) }
	nodes := func(all string) string {
		return `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [` + all + `]}}`
	}
	for name, test := range map[string]struct {
		local, want string
		says        string // What the remote pod says that it lacks, after the path.
	}{
		"spread over hosts and zones": {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + web + `}, {maxSkew: 2, ` + zone + `, ` + soft + `, ` + web + `, minDomains: 2, nodeAffinityPolicy: Ignore}`),
			want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + honor + `, ` + web + `}, {maxSkew: 2, ` + zone + `, ` + soft + `, ` + honor + `, ` + web + `, minDomains: 2, nodeAffinityPolicy: Ignore}`)},
		"spread over tainted nodes, too": {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + web + `, nodeTaintsPolicy: Ignore}`), want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + web + `, nodeTaintsPolicy: Ignore}`)},
		"spread of one ReplicaSet":       {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + web + `, matchLabelKeys: [pod-template-hash, none]}`), want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + honor + `, ` + ofSet + `}`)},
		"spread that the API server has completed": {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + ofSet + `, matchLabelKeys: [pod-template-hash]}`),
			want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + honor + `, ` + ofSet + `}`)},
		"spread over providers":               {local: spread(`{maxSkew: 1, topologyKey: spillway.io/cluster, ` + hard + `, ` + web + `}`)},
		"spread over hosts of providers":      {local: spread(`{maxSkew: 1, topologyKey: spillway.io/host, ` + soft + `, ` + web + `}`), want: spread(`{maxSkew: 1, ` + host + `, ` + soft + `, ` + honor + `, ` + web + `}`)},
		"spread over what no node has":        {local: spread(`{maxSkew: 1, ` + rack + `, ` + hard + `, ` + web + `}`), says: `spec.topologySpreadConstraints[0] (no node of the provider that the pod selects has the label rack)`},
		"spread, preferred, over such a key":  {local: spread(`{maxSkew: 1, ` + rack + `, ` + soft + `, ` + web + `}`)},
		"spread over what some nodes have":    {local: spread(`{maxSkew: 1, topologyKey: pool, ` + hard + `, ` + web + `}`), says: `spec.topologySpreadConstraints[0] (not all nodes of the provider that may take the pod have the label pool)`},
		"spread, preferred, over some":        {local: spread(`{maxSkew: 1, topologyKey: pool, ` + soft + `, ` + web + `}`), want: spread(`{maxSkew: 1, topologyKey: pool, ` + soft + `, ` + honor + `, ` + web + `}`)},
		"spread by a label with an alias":     {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, labelSelector: {matchLabels: {example.com/role: a}}}`), want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + honor + `, labelSelector: {matchLabels: {label.example.com.spillway.io/role: a}}}`)},
		"spread by a label of another node":   {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, labelSelector: {matchLabels: {topology.kubernetes.io/zone: a}}}`), says: `spec.topologySpreadConstraints[0] (it selects pods by the label topology.kubernetes.io/zone, which is not sent)`},
		"spread of a label with an alias":     {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + web + `, matchLabelKeys: [example.com/role]}`), want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + honor + `, labelSelector: {matchLabels: {app: web}, matchExpressions: [{key: label.example.com.spillway.io/role, operator: In, values: [a]}]}}`)},
		"spread of no pods":                   {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `}`)},
		"spread over hosts, twice":            {local: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + web + `}, {maxSkew: 2, topologyKey: spillway.io/host, ` + hard + `, ` + web + `}`), want: spread(`{maxSkew: 1, ` + host + `, ` + hard + `, ` + honor + `, ` + web + `}`), says: `spec.topologySpreadConstraints[1] (another one is over kubernetes.io/hostname there, too)`},
		"apart by host":                       {local: apart(`{` + host + `, ` + web + `}`), want: apart(`{` + host + `, ` + ours + `}`)},
		"apart by host, as admission says it": {local: apart(`{topologyKey: spillway.io/host, ` + web + `}, {` + zone + `, ` + web + `}`), want: apart(`{` + host + `, ` + ours + `}, {` + zone + `, ` + ours + `}`)},
		"apart, by older and newer versions": {local: apart(`{` + host + `, ` + web + `, matchLabelKeys: [pod-template-hash]}, {` + host + `, labelSelector: {}, mismatchLabelKeys: [app]}`),
			want: apart(`{` + host + `, labelSelector: {matchLabels: {app: web, spillway.io/account: us}, matchExpressions: [{key: pod-template-hash, operator: In, values: [h1]}]}}, {` +
				host + `, labelSelector: {matchLabels: {spillway.io/account: us}, matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}`)},
		"apart by provider":                   {local: apart(`{topologyKey: spillway.io/cluster, ` + web + `}`)},
		"apart by what no node has":           {local: apart(`{` + rack + `, ` + web + `}`), says: `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] (no node of the provider that the pod selects has the label rack)`},
		"apart from pods that are not there":  {local: apart(`{` + host + `, ` + web + `, namespaces: [nowhere]}`)},
		"apart from the pods of the provider": {local: apart(`{` + host + `, ` + web + `, namespaces: [kube-system]}`)},
		"apart from everybody":                {local: apart(`{` + zone + `, labelSelector: {}, namespaceSelector: {}}`), want: apart(`{` + zone + `, labelSelector: {matchLabels: {spillway.io/account: us}}, namespaces: [other-eu, team-eu, third-eu]}`)},
		"apart from some, and one more":       {local: apart(`{` + host + `, ` + web + `, namespaceSelector: {matchLabels: {by: us}}, namespaces: [third, third, kube-public]}`), want: apart(`{` + host + `, ` + ours + `, namespaces: [other-eu, team-eu, third-eu]}`)},
		"apart from its own, by name":         {local: apart(`{` + host + `, ` + web + `, namespaces: [team]}`), want: apart(`{` + host + `, ` + ours + `}`)},
		"apart from the pods of others, as the provider labels them": {local: apart(`{` + host + `, labelSelector: {matchLabels: {spillway.io/account: other}}, namespaceSelector: {}}`),
			says: `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] (it selects pods by the label spillway.io/account, which is not sent)`},
		"together with another namespace":   {local: together(`{` + host + `, ` + web + `, namespaces: [other]}`), want: together(`{` + host + `, ` + ours + `, namespaces: [other-eu]}`)},
		"together with one that stays here": {local: together(`{` + host + `, ` + web + `, namespaces: [nowhere]}`), says: `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] (no namespace that it names is in the provider)`},
		"together with itself":              {local: together(`{` + zone + `, ` + web + `}`), want: together(`{` + zone + `, ` + ours + `}`)},
		"together with a pod elsewhere":     {local: together(`{` + zone + `, labelSelector: {matchLabels: {app: db}}, namespaces: [team, other]}`), says: `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] (no pod that it selects is in the provider where this one may run)`},
		"together with itself, sent again":  {local: together(`{` + zone + `, labelSelector: {matchLabels: {app: self}}}`), want: together(`{` + zone + `, labelSelector: {matchLabels: {app: self, spillway.io/account: us}}}`)},
		"together with pods that are not sent": {local: together(`{` + zone + `, labelSelector: {matchExpressions: [{key: app, operator: In, values: [leaving, refused, rejected]}]}}`),
			says: `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] (no pod that it selects is in the provider where this one may run)`},
		"together with a pod that has ended": {local: together(`{` + zone + `, labelSelector: {matchLabels: {app: done}}}`), says: `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] (no pod that it selects is in the provider where this one may run)`},
		"together with who knows whom":       {local: together(`{` + zone + `, labelSelector: {matchLabels: {app: db}}, namespaces: [third]}`), want: together(`{` + zone + `, labelSelector: {matchLabels: {app: db, spillway.io/account: us}}, namespaces: [third-eu]}`)},
		"preferred": {local: `affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, podAffinityTerm: {` + zone + `, ` + web + `}}, {weight: 4, podAffinityTerm: {` + rack + `, ` + web + `}}]}}`,
			want: `affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, podAffinityTerm: {` + zone + `, ` + ours + `}}]}}`},
		"preferred nodes": {local: nodes(`{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}, {key: topology.kubernetes.io/zone, operator: Exists}]}},` +
			`{weight: 2, preference: {matchExpressions: [{key: pool, operator: Exists}, {key: kubernetes.io/arch, operator: Exists}]}}, {weight: 3, preference: {matchExpressions: [{key: spillway.io/node-type, operator: DoesNotExist}]}},` +
			`{weight: 4, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}}, {weight: 5, preference: {matchFields: [{key: metadata.name, operator: In, values: [a]}]}},` +
			`{weight: 6, preference: {matchExpressions: [{key: node.kubernetes.io/instance-type, operator: Exists}]}}`),
			want: nodes(`{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}, {key: topology.kubernetes.io/zone, operator: Exists}]}}`)},
		"required and preferred nodes": {local: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: Exists}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/os, operator: Exists}]}}]}}`,
			want: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: Exists}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/os, operator: Exists}]}}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			target := fieldtest.Mapped
			target.Mark.Account, target.Named = "us", corev1.LabelInstanceTypeStable
			local, remote := placed(t, test.local, target, zoned)
			want := fieldtest.PodOf(t, `{spec: {`+test.want+`}}`)
			if diff := cmp.Diff([]any{want.Spec.TopologySpreadConstraints, want.Spec.Affinity}, []any{remote.Spec.TopologySpreadConstraints, remote.Spec.Affinity}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if said := field.LeftOut(remote); said != test.says {
				t.Errorf("it says %q", said)
			}
			// A pod that a former version has sent lacks all this, and so does one whose nodes have other labels now.
			for version, there := range map[string]*corev1.Pod{"this": remote, "a former": sentPod(t, local, target)} {
				if changes := Update(local, there, target, zoned.Limits); changes != (Changes{}) {
					t.Errorf("what %s version has sent is changed: %+v", version, changes)
				}
			}
		})
	}
}

// TestPlaceAmongOthers sends a pod to a namespace that it shares with pods of other namespaces, which have the same
// labels, and one to a provider whose nodes may not be read.
func TestPlaceAmongOthers(t *testing.T) {
	const all = `topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}, {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}],
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}], preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {}}}]}}`
	_, shared := placed(t, all, fieldtest.Shared, zoned)
	if shared.Spec.TopologySpreadConstraints != nil || shared.Spec.Affinity != nil {
		t.Errorf("it selects pods of other namespaces: %v", shared.Spec)
	}
	if said := field.LeftOut(shared); strings.Count(said, sharesNamespace) != 3 {
		t.Errorf("it says %q", said)
	}
	_, unread := placed(t, all, fieldtest.Mapped, decide.Inputs{Limits: fieldtest.Generous, NodesHave: func(*corev1.Pod, string) (some, all, known bool) { return false, false, false }})
	if got := unread.Spec.TopologySpreadConstraints; len(got) != 1 || got[0].TopologyKey != corev1.LabelHostname {
		t.Errorf("it spreads over %v", got)
	}
	if said := field.LeftOut(unread); said != "spec.topologySpreadConstraints[1] (it is unknown whether nodes of the provider have the label topology.kubernetes.io/zone)" {
		t.Errorf("it says %q", said)
	}
	apart := unread.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if got := apart[0].LabelSelector.MatchLabels[v1alpha1.LabelOrigin]; got != fieldtest.Mark.Origin {
		t.Errorf("without an account, it selects by origin %q", got)
	}
}

// TestPlaceIsBounded sends a pod with more namespaces than any application has.
func TestPlaceIsBounded(t *testing.T) {
	many := zoned
	many.Peers = func() (all []decide.PeerNamespace) {
		for n := range mostNames/2 + 1 {
			all = append(all, decide.PeerNamespace{Remote: fmt.Sprint("n", n)})
		}
		return all
	}
	const term = `{topologyKey: kubernetes.io/hostname, labelSelector: {}, namespaceSelector: {}}`
	_, remote := placed(t, `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [`+strings.Repeat(term+",", mostTerms)+term+`]}}`, fieldtest.Mapped, many)
	if got := len(remote.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution); got != 1 {
		t.Errorf("%d terms are sent", got)
	}
	if said := field.LeftOut(remote); !strings.Contains(said, "more than 1000 namespaces") || !strings.HasSuffix(said, "and 17 more") {
		t.Errorf("it says %q", said)
	}
}

// TestPlaceAsksOnce sends a pod with many parts: the manager asks for each label and each namespace once, and sends a
// bounded number of parts.
func TestPlaceAsksOnce(t *testing.T) {
	asked := map[string]int{}
	counting := zoned
	counting.NodesHave = func(remote *corev1.Pod, key string) (some, all, known bool) {
		asked[key]++
		return zoned.NodesHave(remote, key)
	}
	counting.Here = func(namespace string) ([]corev1.Pod, bool) {
		asked[namespace]++
		return zoned.Here(namespace)
	}
	const term = `{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}`
	_, remote := placed(t, `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [`+strings.Repeat(term+",", mostParts)+term+`]}}`, fieldtest.Mapped, counting)
	if diff := cmp.Diff(map[string]int{corev1.LabelTopologyZone: 1, "team": 1}, asked); diff != "" {
		t.Errorf("it asks (-want +got)\n%s", diff)
	}
	if got := len(remote.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution); got != mostParts || !strings.Contains(field.LeftOut(remote), "more than 100") {
		t.Errorf("%d terms are sent, and it says %q", got, field.LeftOut(remote))
	}
}

// TestPreferredPlacement sends a pod whose owner rather has it run than wait.
func TestPreferredPlacement(t *testing.T) {
	local := fieldtest.PodOf(t, `{metadata: {annotations: {spillway.io/placement: Preferred}}, spec: {containers: [{name: web}],
topologySpreadConstraints: [{maxSkew: 1, minDomains: 3, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}],
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}}}`)
	remote := sentPod(t, local, fieldtest.Mapped)
	place(remote, local, fieldtest.Mapped, zoned)
	want := fieldtest.PodOf(t, `{spec: {
topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}, nodeTaintsPolicy: Honor}],
affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {spillway.io/origin: origin}}}}]}}}}`)
	if diff := cmp.Diff([]any{want.Spec.TopologySpreadConstraints, want.Spec.Affinity}, []any{remote.Spec.TopologySpreadConstraints, remote.Spec.Affinity}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSpreadInAGroup: a pod that may run in one zone only has no use for others.
func TestSpreadInAGroup(t *testing.T) {
	const node = "spillway-eu.a-1"
	for group, want := range map[string]bool{"a": false, "": true} {
		in := zoned
		in.Groups = map[string]field.Group{node: {corev1.LabelArchStable: &group}}
		if group != "" {
			in.Groups[node][corev1.LabelTopologyZone] = &group
		}
		_, remote := placed(t, `nodeName: `+node+`, topologySpreadConstraints: [{maxSkew: 1, minDomains: 3, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`, field.Target{Namespace: "team-eu"}, in)
		if all := remote.Spec.TopologySpreadConstraints; len(all) != 1 || (all[0].MinDomains != nil) != want {
			t.Errorf("zone %q: %+v", group, all)
		}
	}
}

// TestAffinityBetweenGroups: a pod is near to another one only if both may be in one domain.
func TestAffinityBetweenGroups(t *testing.T) {
	a, b, arm := "a", "b", "arm64"
	in := zoned
	in.Groups = map[string]field.Group{"spillway-eu.a": {corev1.LabelTopologyZone: &a}, "spillway-eu.b": {corev1.LabelTopologyZone: &b},
		"spillway-eu.none": {corev1.LabelTopologyZone: nil}, "spillway-eu.arm": {corev1.LabelArchStable: &arm}}
	for name, test := range map[string]struct {
		key, other string
		near       bool
	}{
		"the same zone":                   {corev1.LabelTopologyZone, "spillway-eu.a", true},
		"another zone":                    {corev1.LabelTopologyZone, "spillway-eu.b", false},
		"no zone":                         {corev1.LabelTopologyZone, "spillway-eu.none", false},
		"a node of another zone":          {corev1.LabelHostname, "spillway-eu.b", false},
		"a node of the same zone":         {corev1.LabelHostname, "spillway-eu.a", true},
		"another zone, perhaps one kind":  {corev1.LabelInstanceTypeStable, "spillway-eu.b", true},
		"a group by another key, perhaps": {corev1.LabelHostname, "spillway-eu.arm", true},
		"a node without a group, perhaps": {corev1.LabelTopologyZone, "spillway-eu", true},
	} {
		in.Here = func(string) ([]corev1.Pod, bool) {
			return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{NodeName: test.other}}}, true
		}
		_, remote := placed(t, `nodeName: spillway-eu.a, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: `+test.key+`, labelSelector: {matchLabels: {app: web}}}]}}`, fieldtest.Mapped, in)
		if near := remote.Spec.Affinity != nil && remote.Spec.Affinity.PodAffinity != nil; near != test.near {
			t.Errorf("%s: sent: %v, left out: %q", name, near, field.LeftOut(remote))
		}
	}
}

// TestSpreadOfASubset: what a pod requires of some nodes, which is not sent, does not keep it waiting for the others.
func TestSpreadOfASubset(t *testing.T) {
	const constraint = `, topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`
	for selects, want := range map[string]string{
		`nodeSelector: {pool: gpu}`:                               "spec.topologySpreadConstraints[0].whenUnsatisfiable (the pod selects nodes by pool, which is not sent, so places without such nodes would keep it waiting)",
		`nodeSelector: {provider: eu}`:                            "",
		`nodeSelector: {topology.kubernetes.io/zone: a}`:          "",
		`nodeSelector: {node.kubernetes.io/instance-type: large}`: "",
	} {
		_, remote := placed(t, selects+constraint, fieldtest.Mapped, zoned)
		all := remote.Spec.TopologySpreadConstraints
		if got := field.LeftOut(remote); len(all) != 1 || got != want || (all[0].WhenUnsatisfiable == corev1.ScheduleAnyway) != (want != "") {
			t.Errorf("%s: it is left out %q, and sent: %+v", selects, got, all)
		}
	}
}
