package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/definitions"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

func TestWaiting(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu", Labels: map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual, "kubernetes.io/os": "linux"}}}
	node.Spec.Taints = []corev1.Taint{{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}}
	set := func(tolerations []corev1.Toleration, change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
		s := &appsv1.DaemonSet{}
		s.Spec.Template.Spec.Tolerations = tolerations
		if change != nil {
			change(s)
		}
		return s
	}
	all := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	ordinary := func(s *appsv1.DaemonSet) {
		s.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpDoesNotExist}}}},
		}}}
	}
	tests := map[string]struct {
		set  *appsv1.DaemonSet
		want bool
	}{
		"tolerates nothing":     {set(nil, nil), false},
		"tolerates everything":  {set(all, nil), true},
		"every effect but that": {set([]corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}, nil), false},
		"that taint":            {set([]corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}}, nil), true},
		"that taint of eu":      {set([]corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Value: "eu"}}, nil), true},
		"that taint of us":      {set([]corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Value: "us"}}, nil), false},
		"ordinary nodes only":   {set(all, ordinary), false},
		"other nodes":           {set(all, func(s *appsv1.DaemonSet) { s.Spec.Template.Spec.NodeSelector = map[string]string{"gpu": "true"} }), false},
		"is to run in the provider": {set(all, func(s *appsv1.DaemonSet) {
			s.Spec.Template.Annotations = map[string]string{v1alpha1.AnnotationOffloadDaemonSet: "true"}
		}), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := waiting(test.set, node); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// kinds returns the schema of one kind with these fields.
func kinds(paths ...string) map[string]definitions.Schema {
	schema := definitions.Schema{}
	for _, path := range paths {
		schema[path] = nil
	}
	return map[string]definitions.Schema{"Kind": schema}
}

func TestFindings(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	day := 24 * time.Hour
	var many []cli.Right
	for _, resource := range strings.Split("abcdefghij", "") {
		many = append(many, cli.Right{Verb: "get", Resource: resource})
	}
	role := Role{Name: "ClusterRole all", Rights: many}
	leaving, refused := status.Binding{Name: "eu", Reason: "Deleting"}, "the API server refuses to evict a/b: budget"
	if going := (status.Wait{Reason: "ClusterNotSelected", Message: "it is not required"}); !goes(going) || goes(status.Wait{Reason: "ClusterNotSelected", Message: refused}) {
		t.Error("a namespace is said to go, or not, that does not")
	}
	tests := map[string]struct {
		got   Finding
		level Level
		want  string
	}{
		"a mended release":                       {ofVersion(version.MustParseGeneric("v1.35.4")), OK, "Kubernetes 1.35.4"},
		"a release that is not mended":           {ofVersion(version.MustParseGeneric("v1.34.6-eks-1")), Warning, "update it to 1.34.7 or later"},
		"a release that is never mended":         {ofVersion(version.MustParseGeneric("v1.32.13")), Warning, "update it to 1.33.11, 1.34.7, 1.35.4, 1.36 or later"},
		"a release that was never otherwise":     {ofVersion(version.MustParseGeneric("v1.36.0")), OK, "Kubernetes 1.36.0"},
		"older definitions":                      {ofDefinitions(kinds("spec"), kinds("spec", "spec.new")), Error, "they lack Kind.spec.new"},
		"newer definitions":                      {ofDefinitions(kinds("spec", "spec.new"), kinds("spec")), Warning, "does not know: Kind.spec.new"},
		"the definitions of this version":        {ofDefinitions(kinds("spec"), kinds("spec")), OK, ""},
		"the same clock":                         {ofClock("eu", 5*time.Second), OK, ""},
		"a clock ahead":                          {ofClock("eu", 5*time.Second+1), Warning, "at least 5s ahead of"},
		"a clock behind":                         {ofClock("eu", -31*time.Second), Warning, "at least 31s behind"},
		"a new token":                            {ofExpiry("eu", at, at.Add(30*day), at), OK, "valid until"},
		"a fifth is left":                        {ofExpiry("eu", at, at.Add(30*day), at.Add(24*day)), OK, "valid until"},
		"less than a fifth":                      {ofExpiry("eu", at, at.Add(30*day), at.Add(24*day+time.Second)), Warning, "rotate eu"},
		"a week of a year":                       {ofExpiry("eu", at, at.Add(365*day), at.Add(358*day+time.Second)), Warning, "rotate eu"},
		"expired":                                {ofExpiry("eu", at, at.Add(day), at.Add(day+1)), Error, "rotate eu"},
		"without an end":                         {ofExpiry("eu", time.Time{}, time.Time{}, at), OK, "their expiry is unknown"},
		"a binding that is Ready":                {ofWait(status.Binding{Name: "eu", Ready: true}, status.Wait{Type: "Limited", Reason: "RightsMissing"}), Warning, "bind eu"},
		"one that is not":                        {ofWait(status.Binding{Name: "eu"}, status.Wait{Reason: "Unauthorized"}), Error, "rotate eu"},
		"one that nobody has seen":               {ofWait(status.Binding{Name: "eu"}, status.Tree(status.Seen{Bindings: make([]v1alpha1.ClusterBinding, 1)}).Bindings[0].Waits[0]), Error, "kubectl get pods -n spillway-system"},
		"one that has expired":                   {ofWait(status.Binding{Name: "eu"}, status.Wait{Reason: "Unauthorized", Message: "401; the token expired at 2026-01-02T03:04:05Z"}), Error, "fix: kubectl spillway rotate eu --provider-context CONTEXT\n"},
		"an account that is gone":                {ofWait(status.Binding{Name: "eu"}, status.Wait{Reason: "Unauthorized"}), Error, "bind eu --provider-context CONTEXT, which also recreates a deleted account"},
		"a reason without a mend":                {ofWait(status.Binding{Name: "eu"}, status.Wait{Reason: "StartFailed"}), Error, "docs/troubleshooting.md, reason StartFailed"},
		"one that is being deleted":              {ofWait(leaving, status.Wait{Type: "Ready", Reason: "Deleting", Message: "see the condition Drained"}), OK, "it is being deleted"},
		"pods wait for a new node":               {ofWait(status.Binding{Name: "eu"}, status.Wait{Type: "Elastic", Reason: "PodsWait", Message: "1 pod waits for more"}), OK, "1 pod waits for more"},
		"more exists than it says":               {ofWait(status.Binding{Name: "eu", Ready: true}, status.Wait{Type: "Elastic", Reason: "MaxBelowExisting"}), Warning, "in spec.virtualNode.elastic of eu"},
		"a Lease of kwok":                        {ofWait(status.Binding{Name: "eu", Ready: true}, status.Wait{Type: "WritesRefused", Reason: "ForbiddenInConsumer", Message: "x denied request: Lease kube-node-lease/spillway-eu, held by kwok, is neither"}), Warning, "delete lease spillway-eu -n kube-node-lease"},
		"a policy of one's own":                  {ofWait(status.Binding{Name: "eu", Ready: true}, status.Wait{Type: "WritesRefused", Reason: "ForbiddenInConsumer", Message: "x denied request: no"}), Warning, "exempt that account"},
		"its step":                               {ofWait(leaving, status.Wait{Type: "Drained", Reason: "DeletingNamespaces"}), Warning, "docs/troubleshooting.md, reason DeletingNamespaces"},
		"its evictions are refused":              {ofWait(leaving, status.Wait{Type: "Drained", Reason: "EvictionsRefused", Message: refused}), Error, "scale up elsewhere"},
		"its provider is away":                   {ofWait(leaving, status.Wait{Type: "Drained", Reason: "ProviderUnreachable"}), Error, "deletionPolicy of the binding to Orphan"},
		"a namespace that is held up":            {ofNamespace("eu", status.Namespace{}, status.Wait{Reason: "ClusterNotSelected", Message: refused}), Warning, "reason EvictionsRefused"},
		"a namespace":                            {ofNamespace("eu", status.Namespace{}, status.Wait{Reason: "NameConflict"}), Warning, "reason NameConflict"},
		"an API server that has lost the limits": {ofNamespace("eu", status.Namespace{}, status.Wait{Reason: "CreationFailed", Message: "no params found for policy binding"}), Error, "restart its API servers"},
		"a DaemonSet":                            {ofDaemonSet(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}, []string{"spillway-eu"}), Warning, "DoesNotExist"},
		"a pod that is prepared":                 {ofAdmission("team", Got, nil, true), OK, "new pods get the toleration"},
		"a pod without an answer":                {ofAdmission("team", Missed, nil, true), Error, "Service spillway-system/spillway-webhook"},
		"a pod without the policy":               {ofAdmission("team", Missed, nil, false), Error, "run kubectl spillway install again"},
		"a pod that would stay":                  {ofAdmission("team", Untold, nil, false), Warning, "cannot check whether new pods there can run in a provider"},
		"a pod that is refused":                  {ofAdmission("team", Untold, errors.New("exceeded quota"), true), Warning, "exceeded quota"},
		"logs":                                   {ofLogs("n", "eu", nil), OK, "reaches it"},
		"logs without a certificate":             {ofLogs("n", "eu", apierrors.NewGenericServerResponse(401, "get", schema.GroupResource{}, "", "", 0, true)), Warning, "--kubelet-client-certificate"},
		"logs without an address":                {ofLogs("n", "eu", errors.New("dial tcp: lookup spillway-eu: no such host")), Warning, "--kubelet-address"},
		"logs that the provider has not":         {ofLogs("n", "eu", errors.New("provider eu cannot be reached: dial tcp")), Warning, "the API server reaches it, but the provider gives no logs"},
		"logs that kwok does not play":           {ofLogs("n", "eu", apierrors.NewBadRequest("provider eu: no logs found for container \"c\"\n")), OK, "of kwok, which plays no logs\n"},
		"logs that the provider forbids":         {ofLogs("n", "eu", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("provider eu does not allow pods/log"))), Warning, "the API server reaches it, but"},
		"logs that one may not read":             {ofLogs("n", "eu", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))), Warning, "as a cluster administrator"},
		"rights":                                 {ofRights("eu", "the account", nil, nil, "x"), OK, "has all"},
		"a right less":                           {ofRights("eu", "the account", many[:1], []Role{role}, "fix it"), Error, "lacks: get a\n         fix: fix it"},
		"a few rights less":                      {ofRights("eu", "the account", many[:7], []Role{role}, "x"), Error, "lacks: get a, get b, get c, get d, get e, and 2 more\n"},
		"a role less":                            {ofRights("eu", "the account", many[:9], []Role{role}, "x"), Error, "lacks: 9 of the 10 rights of ClusterRole all: is it bound to that account?\n"},
		"a role and a right less":                {ofRights("eu", "the account", append(slices.Clone(many[:9]), cli.Right{Verb: "list", Resource: "z"}), []Role{role, {Name: "Role z"}}, "x"), Error, "that account?; list z\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := Text([]Finding{test.got}, true)
			if test.got.Level != test.level || !strings.Contains(text, test.want) || test.level != OK && test.got.Mend == "" {
				t.Errorf("got %s", text)
			}
		})
	}
}

// TestDrain: what kubectl spillway drain began, and kubectl uncordon ended halfway.
func TestDrain(t *testing.T) {
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu", UID: "u", Annotations: map[string]string{v1alpha1.AnnotationDrained: v1alpha1.DrainedTrue}}}
	node := func(name string, of *v1alpha1.ClusterBinding, cordoned bool) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, v1alpha1.GroupVersion.WithKind("ClusterBinding"))}},
			Spec:       corev1.NodeSpec{Unschedulable: cordoned},
		}
	}
	other := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "us", UID: "v"}}
	drained := []corev1.Node{node("a", binding, true), node("z", other, false)}
	if f := ofDrain(binding, drained); f != nil {
		t.Errorf("drained: %+v", f)
	}
	if f := ofDrain(binding, append(drained, node("b", binding, false))); f == nil || f.Level != Warning || !strings.Contains(f.Message, "uncordoned node b") {
		t.Errorf("uncordoned: %+v", f)
	}
	if f := ofDrain(other, drained); f != nil {
		t.Errorf("not drained: %+v", f)
	}
}

// TestAnswer: only the toleration itself shows that a pod was prepared, or with tiers the affinity.
func TestAnswer(t *testing.T) {
	tiers := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote, Overflow: make([]v1alpha1.OverflowTier, 1)}}
	prepared := corev1.Pod{}
	admission.Decide(&prepared, tiers).Apply(&prepared)
	for want, pod := range map[Answer]*corev1.Pod{Got: &prepared, Missed: {}, Untold: {Spec: corev1.PodSpec{NodeName: "n"}}} {
		if got := answer(pod, tiers); got != want {
			t.Errorf("with tiers: got %s, want %s", got, want)
		}
	}
	both := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote}}
	tolerates := func(toleration corev1.Toleration) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{toleration}}}
	}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want Answer
	}{
		"prepared":                         {tolerates(corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}), Got},
		"as it was sent":                   {corev1.Pod{}, Missed},
		"with what others add":             {tolerates(corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), Missed},
		"others let it tolerate all":       {tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists}), Untold},
		"others make it a pod of the node": {corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true}}, Untold},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(&test.pod, both); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestWorstAndText(t *testing.T) {
	ok, warning, bad := Finding{Level: OK}, Finding{Level: Warning, Check: "clock"}, Finding{Level: Error}
	for want, all := range map[Level][]Finding{OK: {ok, ok}, Warning: {ok, warning, ok}, Error: {warning, bad, warning}} {
		if got := Worst(all); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := Text([]Finding{ok, warning}, false); !strings.Contains(got, "1 check passed;") || !strings.Contains(got, "warning  clock") {
		t.Error(got)
	}
}

// TestGranted: every verb of every role of that name, and nothing of other roles.
func TestGranted(t *testing.T) {
	shipped, err := config.Objects("provider")
	if err != nil {
		t.Fatal(err)
	}
	roles, err := Granted(shipped, config.ProviderAccount)
	if err != nil {
		t.Fatal(err)
	}
	if roles[0].Name != "ClusterRole spillway-consumer" {
		t.Errorf("the first one is %s", roles[0].Name)
	}
	found := map[string]bool{}
	for _, right := range rightsOf(roles) {
		found[right.String()] = true
	}
	for _, want := range []string{
		"list pods", "get pods/log", "create leases.coordination.k8s.io in namespace spillway-provider", "get configmaps limits in namespace spillway-provider", "list pods.metrics.k8s.io",
	} {
		if !found[want] {
			t.Errorf("%q is missing", want)
		}
	}
	if none, err := Granted(shipped, "other"); err != nil || len(none) != 0 {
		t.Errorf("got %v, %v", none, err)
	}
}

// TestReadings: the consumer answers after half a second, and its clock is 100 s ahead of this computer's.
func TestReadings(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	here := reading{date: at.Add(100 * time.Second), asked: at, answered: at.Add(time.Second / 2)}
	for ahead, want := range map[time.Duration]time.Duration{
		0: 0, 1: 0, 10: 8500 * time.Millisecond, -1: 0, -10: -8500 * time.Millisecond,
	} {
		there := reading{date: at.Add(110*time.Second + ahead*time.Second), asked: at.Add(10 * time.Second), answered: at.Add(10*time.Second + time.Second/2)}
		if got := there.ahead(here); got != want {
			t.Errorf("%d seconds ahead: it is at least %s, want %s", ahead, got, want)
		}
	}
}

// TestBefore: what exists before the installation.
func TestBefore(t *testing.T) {
	ours, others := corev1.Node{}, corev1.Node{}
	ours.Name, others.Name = "spillway-eu", "spillway-rack"
	ours.Labels = map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}
	ready := corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	if _, found := ofTaken("consumer", []corev1.Node{ours}); found {
		t.Error("a virtual node is in the way of itself")
	}
	if f, found := ofTaken("consumer", []corev1.Node{ours, others}); !found || f.Level != Warning || !strings.HasSuffix(f.Message, ": spillway-rack") {
		t.Errorf("got %+v", f)
	}
	ours.Status = ready.Status
	for want, f := range map[string]Finding{
		"ok: no object": ofNames("consumer", 0, 9, nil, nil),
		"warning: whether objects are in the way is unknown: 1 of 9": ofNames("consumer", 0, 9, []string{"namespace/a"}, nil),
		"ok: 3 of 9 objects exist already":                           ofNames("consumer", 3, 9, nil, nil),
		"warning: objects with names":                                ofNames("consumer", 3, 9, nil, []string{"a: conflict"}),
		"ok: it has Kubernetes 1.31.0":                               ofProviderVersion("provider", "1.31.0", false),
		"error: it has Kubernetes 1.29.0, which":                     ofProviderVersion("provider", "1.29.0", true),
		"ok: 1 of its 2 nodes are Ready":                             ofNodes("provider", []corev1.Node{ours, ready, others}, "x"),
		"warning: none of its 1 nodes is Ready: x":                   ofNodes("provider", []corev1.Node{ours, others}, "x"),
		"warning: it has no node: x":                                 ofNodes("consumer", []corev1.Node{ours}, "x"),
	} {
		if got := string(f.Level) + ": " + f.Message; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestPolicies: only an accepted object shows that a policy is missing.
// TestMetrics: a provider without metrics may be intended, one with a broken API may not.
func TestMetrics(t *testing.T) {
	group := schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"}
	for want, err := range map[string]error{
		"ok its metrics-server answers": nil, "ok it has no metrics-server": apierrors.NewNotFound(group, ""),
		"warning its metrics-server is registered": apierrors.NewServiceUnavailable("no endpoints"),
	} {
		if f := ofMetrics("eu", err); !strings.HasPrefix(string(f.Level)+" "+f.Message, want) {
			t.Errorf("got %+v, want %s", f, want)
		}
	}
}

// TestAbout: what concerns a provider, and not what concerns another one or a team.
func TestAbout(t *testing.T) {
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
	var got []string
	for _, f := range About([]Finding{
		{Check: "manager"}, {Check: "rights"}, {Check: "rights", Object: "eu"}, {Check: "rights", Object: "us"}, {Check: "clock", Object: "us"},
		{Check: "logs", Object: "spillway-eu"}, {Check: "strays", Object: "team"}, {Check: "admission", Object: "team"},
	}, binding) {
		got = append(got, f.Check+f.Object)
	}
	if want := "manager rights rightseu logsspillway-eu"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
