package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

func TestExplain(t *testing.T) {
	pod := func(node string, changes ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "uid", CreationTimestamp: metav1.NewTime(time.Unix(200, 0))}}
		p.Spec.NodeName, p.Status.Phase = node, corev1.PodPending
		p.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}}
		for _, change := range changes {
			change(p)
		}
		return p
	}
	offloading := func(strategy v1alpha1.PodOffloadingStrategy) *v1alpha1.NamespaceOffloading {
		o := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(100, 0))}}
		o.Spec.PodOffloadingStrategy = strategy
		o.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{{Cluster: "eu", RemoteNamespace: "team-a-home", Conditions: []metav1.Condition{
			conditions.New("OffloadingRequired", "True", "ClusterSelected", ""), conditions.New("Ready", "False", "NameConflict", "it is somebody's"),
		}}}
		return o
	}
	away := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	away.Status.Conditions = []metav1.Condition{conditions.New("Ready", "False", "Unreachable", "no answer")}
	unplugged := away.DeepCopy()
	unplugged.Status.Conditions = append(unplugged.Status.Conditions, conditions.New("Connected", "False", "Unreachable", "no answer"))
	unplugged.Status.LastHeartbeatTime = ptr.To(metav1.NewTime(time.Unix(0, 0)))
	unscheduled := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}}
	}
	started := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Annotations = map[string]string{
			v1alpha1.AnnotationRemoteUID: "r", v1alpha1.AnnotationRemoteFor: "uid", v1alpha1.AnnotationRemoteName: "web", v1alpha1.AnnotationRemoteNamespace: "team-a-home", v1alpha1.AnnotationRemoteIP: "10.0.0.1",
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionTrue, Reason: "Offloaded", Message: "without the toleration a"}}
	}
	routed := func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }
	copied := func(p *corev1.Pod) { started(p); p.UID = "another" }
	intolerant := func(p *corev1.Pod) { p.Spec.Tolerations = nil }
	early := func(p *corev1.Pod) { intolerant(p); p.CreationTimestamp = metav1.NewTime(time.Unix(50, 0)) }
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
	}
	sent := func(p *corev1.Pod) {
		daemon(p)
		p.Annotations = map[string]string{v1alpha1.AnnotationOffloadDaemonSet: v1alpha1.OffloadTrue}
	}
	ordinary := &corev1.Node{}
	told := []corev1.Event{{Reason: "Rejected", Message: "no", ReportingController: "spillway-syncer"}, {Reason: "Scheduled", ReportingController: "default-scheduler"}}
	same := append(slices.Clone(told), corev1.Event{Type: "Warning", Reason: "Rejected", Message: "exceeded quota: full", ReportingController: "spillway-syncer", LastTimestamp: metav1.Unix(1, 0)})
	none := offloading(v1alpha1.PodsRemote)
	none.Status = v1alpha1.NamespaceOffloadingStatus{OffloadingPhase: "NoClusterSelected", Conditions: []metav1.Condition{conditions.New("Ready", "False", "NoClusterSelected", "compare it with the labels")}}
	leaving := offloading(v1alpha1.PodsRemote)
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(300, 0)}
	leaving.Status.Conditions = []metav1.Condition{conditions.New("Ready", "False", "EvictingPods", "pods are being evicted")}
	europe := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "europe"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
	bound := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	unbinding := bound.DeepCopy()
	unbinding.Status.Conditions = []metav1.Condition{
		conditions.New("Ready", "False", "Deleting", "the ClusterBinding is being deleted; see the condition Drained"),
		conditions.New("Drained", "False", "EvictingPods", "1 pod; the API server refuses to evict team-a/web: budget"),
	}
	mounting := bound.DeepCopy()
	mounting.Spec.MountNamespace = "team-a-home"
	stranded := func(p *corev1.Pod) {
		unscheduled(p)
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{admission.OnVirtual}},
		}}}}
	}
	claiming := func(p *corev1.Pod) {
		intolerant(p)
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}
	tiers := offloading(v1alpha1.PodsLocalAndRemote)
	tiers.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, {}}
	overflowed := func(p *corev1.Pod) {
		p.Annotations = map[string]string{v1alpha1.AnnotationOverflow: "1=2026-01-02T03:04:05Z"}
	}
	refusing := tiers.DeepCopy()
	refusing.Status.Overflow = []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}, {Clusters: []string{"us"}}}
	refusing.Status.Full = []v1alpha1.FullProvider{{Cluster: "eu", Until: ptr.To(metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))), Message: "exceeded quota"}}
	refusing.Spec.Overflow = append(refusing.Spec.Overflow, v1alpha1.OverflowTier{})
	between := refusing.DeepCopy()
	between.Spec.Unschedulable, between.Status.Full[0].Refusals = &v1alpha1.Unschedulable{}, 1
	between.Status.Full[0].LastRefusal = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC))
	between.Status.Full[0].Until.Time = between.Status.Full[0].Until.Add(time.Minute)
	between.Spec.Overflow, between.Status.Overflow = append(between.Spec.Overflow, v1alpha1.OverflowTier{}), append(between.Status.Overflow, v1alpha1.OverflowTierStatus{Clusters: []string{"asia"}})
	waiting := func(p *corev1.Pod) {
		p.Generation, p.Status.Conditions = 1, []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room", ObservedGeneration: 1, LastTransitionTime: metav1.Unix(0, 1)}}
	}
	second := func(p *corev1.Pod) {
		overflowed(p)
		p.Annotations[v1alpha1.AnnotationOverflow] = "2=2026-01-02T03:04:05Z"
		p.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Value: "us"}}
	}
	returning := tiers.DeepCopy()
	returning.Spec.Return = &v1alpha1.ReturnPolicy{}
	returning.Status.Conditions = []metav1.Condition{conditions.New("Ready", "True", "Ready", ""), conditions.New("Returns", "False", "NoRoom", "no tier has room")}
	rejected := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}}
		p.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: "Rejected", Message: "exceeded quota: full", LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}
	}
	tiers.Spec.Unschedulable, tiers.Status.Overflow = &v1alpha1.Unschedulable{}, []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}}
	selective := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"region": "eu"} }
	ofStatefulSet := func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "StatefulSet" }
	placeless := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions[len(p.Status.Conditions)-1].Reason, p.Status.Conditions[len(p.Status.Conditions)-1].Message = "Unschedulable", "1 Insufficient cpu"
	}
	declined := func(p *corev1.Pod) {
		placeless(p)
		p.Status.Conditions[len(p.Status.Conditions)-1].Reason = "NoNewNode"
	}
	grows := &v1alpha1.ClusterBinding{}
	grows.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Max: corev1.ResourceList{"pods": resource.MustParse("1")}}
	paused := &v1alpha1.ClusterBinding{Spec: v1alpha1.ClusterBindingSpec{Paused: true}}
	full := tiers.DeepCopy()
	full.Status.Conditions = []metav1.Condition{conditions.New("Ready", "True", "Ready", ""), conditions.New("Full", "True", "ProvidersFull", "pods are kept away from eu")}
	failed := func(p *corev1.Pod) {
		started(p)
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Message: "no token\x1b"}}}}
	}
	lost := func(p *corev1.Pod) { failed(p); p.Status.Reason = "RemotePodLost" }
	normal := []corev1.Event{{Type: "Normal", Reason: "ExternalProvisioning", Message: "Waiting for a volume"}}
	claims := []Claim{{Name: "data", Phase: "Pending", Events: []corev1.Event{{Type: "Warning", Reason: "ProvisioningFailed", Message: "quota"}}}, {Name: "more"}, {Name: "fine", Phase: "Bound", Events: normal}, {Name: "late", Phase: "Pending"}, {Name: "slow", Phase: "Pending", Events: normal}}
	tests := map[string]struct {
		seen     Seen
		want     []string
		provider string
		remote   string
		without  []string
	}{
		"not offloaded":                {Seen{Pod: pod("")}, []string{"it has no node yet", "namespace team-a is not offloaded", "kubectl spillway offload team-a"}, "", "", nil},
		"waits for a node":             {Seen{Pod: pod("", unscheduled), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"says Remote", "Unschedulable: no room", "namespace team-a-home in eu NameConflict: it is somebody's"}, "", "", nil},
		"created before":               {Seen{Pod: pod("n", early), Node: ordinary, Offloading: offloading(v1alpha1.PodsRemote)}, []string{"on node n of this cluster", "created before the namespace was offloaded"}, "", "", []string{"NameConflict"}},
		"without a toleration":         {Seen{Pod: pod("n", intolerant), Node: ordinary, Offloading: offloading(v1alpha1.PodsRemote)}, []string{"the policy spillway-pods did not change it"}, "", "", nil},
		"of a DaemonSet that is sent":  {Seen{Pod: pod("n", sent, intolerant), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocalAndRemote)}, []string{"its DaemonSet must add the toleration"}, "", "", []string{"ordinary nodes only"}},
		"of a DaemonSet":               {Seen{Pod: pod("n", daemon), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocalAndRemote)}, []string{"it is a DaemonSet pod", "the scheduler picks"}, "", "", nil},
		"here, first":                  {Seen{Pod: pod("n"), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocalFirst)}, []string{"if there is no room"}, "", "", []string{"toleration"}},
		"waits for the first tier":     {Seen{Pod: pod("", intolerant, unscheduled), Offloading: tiers}, []string{"spec.overflow in order\nthe tiers of spec.overflow:\n  - tier 0 (this cluster), open from the beginning\n  - tier 1 (eu), not open\n"}, "", "", []string{"spillway-pods", "the scheduler picks"}},
		"waits for the second tier":    {Seen{Pod: pod("", overflowed), Offloading: tiers}, []string{"beginning: the scheduler found no room\n  - tier 1 (eu), opened at 2026-01-02T03:04:05Z\n"}, "", "", []string{"1=2026"}},
		"between tiers":                {Seen{Pod: pod("", second, waiting), Offloading: between, Now: time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC)}, []string{"tier 1 (eu), skipped", "tier 2 (us), opened at 2026-01-02T03:04:05Z\n  - tier 3 (asia), opens at 2026-01-02T03:04:15Z if there is no room before\n"}, "", "", nil},
		"in a later tier":              {Seen{Pod: pod("spillway-eu", overflowed), Offloading: returning}, []string{"pods in later tiers return (spec.return): NoRoom: no tier has room"}, "eu", "", nil},
		"in a later tier, and why":     {Seen{Pod: pod("spillway-us", second), Offloading: refusing}, []string{"tier 1 (eu), skipped: pods are kept away from eu until 2026-01-02T03:04:05Z: exceeded quota\n  - tier 2 (us), opened at 2026-01-02T03:04:05Z: the pod is here\n"}, "us", "", nil},
		"in the first tier":            {Seen{Pod: pod("spillway-eu"), Offloading: returning}, nil, "eu", "", []string{"NoRoom"}},
		"waits, and others return":     {Seen{Pod: pod("", unscheduled), Offloading: returning}, nil, "", "", []string{"NoRoom"}},
		"waits while a tier is full":   {Seen{Pod: pod("", intolerant, unscheduled), Offloading: full}, []string{"NamespaceOffloading ProvidersFull: pods are kept away from eu"}, "", "", nil},
		"refused there, with tiers":    {Seen{Pod: pod("spillway-eu", rejected, intolerant), Offloading: tiers}, []string{"if it has not started in provider eu at 1970-01-01T00:05:00Z, and another place may take it, it is deleted, and ReplicaSet web creates another one", "Rejected: exceeded quota"}, "eu", "", nil},
		"refused there, and nowhere":   {Seen{Pod: pod("spillway-eu", rejected, selective, intolerant), Offloading: tiers, Nodes: map[string][]*corev1.Node{"eu": {{}}}}, []string{"it waits for provider eu: no other place of spec.overflow may take it now"}, "eu", "", []string{"is deleted"}},
		"refused there, and stays":     {Seen{Pod: pod("spillway-eu", rejected, ofStatefulSet), Offloading: tiers}, []string{"it waits for provider eu: its controller is a StatefulSet"}, "eu", "", []string{"is deleted"}},
		"refused there, which is away": {Seen{Pod: pod("spillway-eu", rejected, intolerant), Offloading: tiers, Binding: paused}, []string{"Rejected: exceeded quota"}, "eu", "", []string{"is deleted"}},
		"refused there, without tiers": {Seen{Pod: pod("spillway-eu", rejected), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"only namespaces with spec.overflow and spec.unschedulable replace such pods"}, "eu", "", nil},
		"waits for a new node there":   {Seen{Pod: pod("spillway-eu", started, rejected, placeless, intolerant), Offloading: tiers, Binding: grows}, []string{"it waits for a new node; if it has not started in provider eu at 1970-01-01T00:10:00Z"}, "eu", "team-a-home/web", nil},
		"waits there, and stays":       {Seen{Pod: pod("spillway-eu", started, rejected, placeless, ofStatefulSet), Offloading: tiers}, []string{"it stays in provider eu until that can run it: its controller is a StatefulSet"}, "eu", "team-a-home/web", nil},
		"waits there, who knows":       {Seen{Pod: pod("spillway-eu", started, rejected, placeless, intolerant), Offloading: tiers}, []string{"at 1970-01-01T00:05:00Z, or later if the provider can grow, and another place"}, "eu", "team-a-home/web", nil},
		"no new node, without rights":  {Seen{Pod: pod("spillway-eu", started, rejected, declined, intolerant), Offloading: tiers, Now: time.Unix(60, 0)}, []string{"the autoscaler of the provider starts no node for it; if it has not started in provider eu at 1970-01-01T00:01:00Z, and"}, "eu", "team-a-home/web", nil},
		"here, always":                 {Seen{Pod: pod("n", intolerant), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocal)}, []string{"pods run here"}, "", "", []string{"toleration"}},
		"not started there":            {Seen{Pod: pod("spillway-eu"), Offloading: offloading(v1alpha1.PodsRemote), Binding: away}, []string{"the provider eu", "not started there yet", "ClusterBinding eu Unreachable: no answer", "NameConflict"}, "eu", "", []string{"last known"}},
		"started, and away":            {Seen{Pod: pod("spillway-eu", started), Binding: unplugged}, []string{"pod team-a/web: Running\n", "the manager is not connected to provider eu: its pods are as last known at 1970-01-01T00:00:00Z\n"}, "eu", "team-a-home/web", nil},
		"started":                      {Seen{Pod: pod("spillway-eu", started), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"the remote pod is team-a-home/web, with the address 10.0.0.1", "no route leads to that address", "not sent to the provider:\n  - without the toleration a"}, "eu", "team-a-home/web", []string{"not started"}},
		"started, and routed":          {Seen{Pod: pod("spillway-eu", started, routed)}, []string{"with the address 10.0.0.1"}, "eu", "team-a-home/web", []string{"no route"}},
		"made from another's manifest": {Seen{Pod: pod("spillway-eu", copied)}, []string{"not started there yet"}, "eu", "", nil},
		"nothing is selected":          {Seen{Pod: pod("", unscheduled), Offloading: none}, []string{"wrong:\n  - NamespaceOffloading NoClusterSelected: compare it with the labels\n  - Unschedulable: no room"}, "", "", nil},
		"stays here, nothing selected": {Seen{Pod: pod("n", intolerant), Node: ordinary, Offloading: none}, []string{"on node n"}, "", "", []string{"NoClusterSelected"}},
		"is taken back":                {Seen{Pod: pod("spillway-eu", started), Offloading: leaving, Binding: bound}, []string{"is leaving the providers", "NamespaceOffloading EvictingPods: pods are being evicted"}, "eu", "team-a-home/web", []string{"says Remote"}},
		"its binding is being deleted": {Seen{Pod: pod("spillway-eu", started), Offloading: offloading(v1alpha1.PodsRemote), Binding: unbinding}, []string{"ClusterBinding eu EvictingPods: 1 pod; the API server refuses to evict team-a/web: budget"}, "eu", "team-a-home/web", []string{"see the condition"}},
		"was taken back":               {Seen{Pod: pod("spillway-eu", failed), Binding: bound}, []string{"namespace team-a is not offloaded\n", "the remote pod was team-a-home/web, until the namespace was no longer offloaded to eu"}, "eu", "", []string{"in this cluster", "address"}},
		"was taken back, for a team":   {Seen{Pod: pod("spillway-eu", failed)}, []string{"the remote pod was team-a-home/web; it is unknown whether it still exists"}, "eu", "", nil},
		"in a mount namespace":         {Seen{Pod: pod("spillway-eu", failed), Binding: mounting}, []string{"the remote pod was team-a-home/web; it is unknown whether it still exists"}, "eu", "", []string{"address"}},
		"lost":                         {Seen{Pod: pod("spillway-eu", lost), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"the remote pod was team-a-home/web, which is gone", "RemotePodLost"}, "eu", "", nil},
		"has failed":                   {Seen{Pod: pod("spillway-eu", failed), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"the remote pod was team-a-home/web; it is unknown", "container app Error: exit code 3: no token\n", "without the toleration a"}, "eu", "", []string{"Failed: ", "address"}},
		"stranded":                     {Seen{Pod: pod("", stranded)}, []string{"can run only on virtual nodes", "delete and recreate it"}, "", "", []string{"in this cluster", "mountNamespace"}},
		"stranded, as a team sees it":  {Seen{Pod: pod("", stranded), HiddenBindings: true}, []string{"offload team-a, unless a provider has a mountNamespace"}, "", "", nil},
		"waits for a mount namespace": {Seen{Pod: pod("", stranded), Bindings: placement.NewIndex([]v1alpha1.ClusterBinding{*mounting})},
			[]string{"waits for the virtual node of a binding that has a mountNamespace"}, "", "", []string{"delete and recreate it", "in this cluster"}},
		"waits for claims": {Seen{Pod: pod("", claiming), Offloading: offloading(v1alpha1.PodsLocalAndRemote), Claims: claims}, []string{
			"NotScheduled", "it uses PersistentVolumeClaims", "PersistentVolumeClaim data Pending ProvisioningFailed: quota", "PersistentVolumeClaim more NotFound", "PersistentVolumeClaim late Pending: it is not bound", "PersistentVolumeClaim slow Pending ExternalProvisioning: Waiting for a volume"}, "", "", []string{"fine"}},
		"its volume is there": {Seen{Pod: pod("", unscheduled), Offloading: offloading(v1alpha1.PodsRemote), Bindings: placement.NewIndex([]v1alpha1.ClusterBinding{europe}), Claims: []Claim{
			{Name: "data", Phase: corev1.ClaimBound, Provider: "eu", Cordoned: true, Events: []corev1.Event{{Type: "Warning", Reason: "RightsMissing", Message: "it was refused"}}},
			{Name: "logs", Phase: corev1.ClaimBound, Events: []corev1.Event{{Type: "Warning", Reason: "VolumeLost", Message: "it is gone"}}},
		}}, []string{"its claim data has its volume in provider eu, so it can run only there; the virtual nodes of that provider are cordoned", "kubectl spillway uncordon europe\n", "PersistentVolumeClaim logs Bound VolumeLost: it is gone"}, "", "", []string{"it was refused", "claim logs has"}},
		"not for you":             {Seen{Pod: pod("spillway-eu", started), Hidden: true}, []string{"you may not read the NamespaceOffloading of namespace team-a", "the remote pod is"}, "eu", "team-a-home/web", []string{"not offloaded"}},
		"what was told":           {Seen{Pod: pod("spillway-eu"), Events: told}, []string{"events:\n  - Rejected: no\n"}, "eu", "", []string{"Scheduled"}},
		"told twice":              {Seen{Pod: pod("spillway-eu", rejected), Events: same}, []string{"wrong:\n  - spillway.io/Offloaded Rejected: exceeded quota: full\nevents:\n  - Rejected: no\n"}, "eu", "", []string{"  - Rejected: exceeded"}},
		"told twice, as a reason": {Seen{Pod: pod(""), Events: same[1:]}, []string{"yet: Rejected: exceeded quota: full\n"}, "", "", []string{"events:"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Explain(test.seen)
			text := Text(got)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in:\n%s", want, text)
				}
			}
			for _, without := range test.without {
				if strings.Contains(text, without) {
					t.Errorf("%q is in:\n%s", without, text)
				}
			}
			if got.Provider != test.provider || got.Remote != test.remote {
				t.Errorf("it is in %q as %q", got.Provider, got.Remote)
			}
		})
	}
}

func TestPodName(t *testing.T) {
	for given, want := range map[string]string{"web": "web", "pod/web": "web", "pods/web": "web", "deployment/web": "", "pod/": ""} {
		if got, err := podName(given); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", given, got, err)
		}
	}
}
