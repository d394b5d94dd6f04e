package unbind

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/provider/lease"
)

// TestAccess: what gives access is deleted, and what confines consumers stays.
func TestAccess(t *testing.T) {
	shipped, err := config.Objects("provider")
	if err != nil {
		t.Fatal(err)
	}
	goes, stays := map[string]bool{}, map[string]bool{}
	access := Access(shipped)
	for _, object := range shipped {
		if slices.Contains(access, object) {
			goes[object.GetKind()] = true
		} else {
			stays[object.GetKind()] = true
		}
	}
	for _, kind := range []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "PriorityLevelConfiguration", "FlowSchema"} {
		if !goes[kind] || stays[kind] {
			t.Errorf("%s stays", kind)
		}
	}
	for _, kind := range []string{"Namespace", "ConfigMap", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		if !stays[kind] || goes[kind] {
			t.Errorf("%s goes", kind)
		}
	}
}

// TestAccessBeginsAnew: the mark of a first time is deleted first. Otherwise a bind after an interrupted
// deletion would leave out rights.
func TestAccessBeginsAnew(t *testing.T) {
	shipped, err := config.Objects("provider")
	if err != nil {
		t.Fatal(err)
	}
	access := Access(shipped)
	if last := access[len(access)-1]; last.GetKind() != "ClusterRoleBinding" || last.GetName() != config.ProviderAccount {
		t.Errorf("%s %s is deleted first", last.GetKind(), last.GetName())
	}
}

// TestMayClean: even after the binding is gone, its token shows to which provider it led.
func TestMayClean(t *testing.T) {
	elsewhereNow := end{name: "second", uid: "other", at: elsewhere}
	tests := map[string]struct {
		own    end
		others []end
		want   string
	}{
		"it is its provider":            {end{uid: "there", at: here}, []end{elsewhereNow}, ""},
		"it is another cluster":         {end{name: "eu", uid: "other", at: elsewhere}, nil, "ClusterBinding eu is for a cluster other than the provider"},
		"it is that of another one":     {end{name: "eu", uid: "other", at: elsewhere}, []end{{name: "second", at: here}}, "ClusterBinding eu is for a cluster other than the provider"},
		"the binding is gone":           {end{at: here}, []end{elsewhereNow}, ""},
		"nothing is left but the other": {end{}, []end{elsewhereNow}, ""},
		"its token is of another one":   {end{name: "eu", secret: "eu-kubeconfig", at: elsewhere}, nil, "whose token is in Secret eu-kubeconfig"},
		"another one leads there":       {end{uid: "there", at: here}, []end{{name: "second", at: here}}, "ClusterBinding second also uses"},
		"only another one leads there":  {end{}, []end{{name: "second", at: here}}, "ClusterBinding second also uses"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := mayClean("the provider", test.own, test.others)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestOnlyThere(t *testing.T) {
	node := func(name, kind string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelNodeType: kind, "name": name}}}
	}
	pod := func(name string, selector map[string]string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PodSpec{NodeSelector: selector, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}
	}
	own, eu, us := node("own", ""), node("spillway-eu", v1alpha1.NodeTypeVirtual), node("spillway-us", v1alpha1.NodeTypeVirtual)
	goes := pod("goes", map[string]string{"name": "spillway-eu"})
	goes.DeletionTimestamp = ptr.To(metav1.Now())
	pods := []corev1.Pod{
		pod("anywhere", nil), pod("virtual", map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}),
		pod("eu", map[string]string{"name": "spillway-eu"}), pod("us", map[string]string{"name": "spillway-us"}), goes,
	}
	plain := pod("plain", nil)
	plain.Spec.Tolerations = nil
	if got := OnlyThere([]corev1.Pod{plain}, []corev1.Node{eu}, eu.Name, nil); got.Count != 0 {
		t.Errorf("without a toleration, where no other node is: %s", got)
	}
	if got := OnlyThere(pods, []corev1.Node{own, eu, us}, eu.Name, nil).String(); got != "1 pod (team/eu)" {
		t.Errorf("of two providers: %s", got)
	}
	if got := OnlyThere(pods, []corev1.Node{own, eu}, eu.Name, nil).String(); got != "2 pods (team/eu, team/virtual)" {
		t.Errorf("of the last provider: %s", got)
	}
	for i := range pods {
		pods[i].OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: ptr.To(true)}}
	}
	lone, done := pod("lone", map[string]string{"name": "spillway-eu"}), *pods[2].DeepCopy()
	done.Status.Phase = corev1.PodSucceeded
	if got := tied(append(pods, lone, done), []corev1.Node{own, eu}, eu.Name, nil, nil); !slices.Equal(got, []string{"2 in namespace team"}) {
		t.Errorf("recreated: %s", got)
	}
}

// TestOnlyVirtual: several providers do not help a pod once all go.
func TestOnlyVirtual(t *testing.T) {
	node := func(name, kind string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelNodeType: kind}}}
	}
	pod := func(name, on string, owned bool, requires ...corev1.NodeSelectorRequirement) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PodSpec{NodeName: on, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: append(requires, admission.OnVirtual)}},
		}}}
		if owned {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: ptr.To(true)}}
		}
		return p
	}
	own := corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpExists}
	nodes := []corev1.Node{node("own", "local"), node("spillway-eu", v1alpha1.NodeTypeVirtual), node("spillway-us", v1alpha1.NodeTypeVirtual)}
	nodes[0].Labels = nil
	pods := []corev1.Pod{
		pod("added", "spillway-eu", true), pod("tied", "spillway-eu", true, own), pod("lost", "spillway-eu", false, own), pod("local", "own", true, own),
		pod("waits", "", false), pod("recreated", "", true), pod("waits-tied", "", true, own),
	}
	if got := OnlyVirtual(pods, nodes, nil, []string{"team"}).String(); got != "3 pods (team/tied, team/waits, team/waits-tied)" {
		t.Errorf("got %s", got)
	}
	if got := OnlyVirtual(pods, nodes, nil, nil); got.Count != 5 {
		t.Errorf("in a namespace that is not taken back: %s", got)
	}
}

// authority returns a certificate authority.
func authority(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// document returns a kubeconfig with a token of an account.
func document(t *testing.T, authority []byte, name string) []byte {
	t.Helper()
	claims := `{"iat":0,"exp":100,"sub":"system:serviceaccount:spillway-provider:` + name + `","kubernetes.io":{"serviceaccount":{"uid":"1"}}}`
	at := clientcmdapi.Cluster{Server: "https://eu:6443", CertificateAuthorityData: authority}
	content, err := account.Kubeconfig("provider", at, clientcmdapi.AuthInfo{Token: "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestLocate: the token shows to which provider a binding led, even after its account was deleted.
func TestLocate(t *testing.T) {
	own := clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthorityData: authority(t)}
	other := clientcmdapi.Cluster{Server: "https://us:6443", CertificateAuthorityData: []byte("other")}
	for name, test := range map[string]struct {
		of, there string // The account of the token, and the UID of that account in the provider.
		at        clientcmdapi.Cluster
		want      place
	}{
		"its account is there":              {config.ProviderAccount, "1", other, here},
		"it is another one's account":       {config.ProviderAccount, "2", own, elsewhere},
		"an earlier run has deleted it":     {config.ProviderAccount, "", own, here},
		"the authority is not known":        {config.ProviderAccount, "", clientcmdapi.Cluster{Server: "https://eu:6443"}, here},
		"it is another cluster":             {config.ProviderAccount, "", other, elsewhere},
		"bind has not made what is deleted": {"second", "", own, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}, Data: map[string][]byte{"kubeconfig": document(t, own.CertificateAuthorityData, test.of)}}
			provider := &cli.Provider{Cluster: cluster(t, nil), Endpoint: test.at}
			if test.there != "" {
				provider.Cluster = cluster(t, nil, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: test.of, UID: types.UID(test.there)}})
			}
			e := end{secret: secret.Name, key: "kubeconfig"}
			if err := e.locate(t.Context(), cluster(t, nil, secret), provider, "uid"); err != nil || e.at != test.want {
				t.Errorf("got %q, %v", e.at, err)
			}
		})
	}
}

// TestWhatIsLeft: if a run ends early, it says what is left, and how to remove it.
func TestWhatIsLeft(t *testing.T) {
	r := &remains{name: "eu", key: client.ObjectKey{Namespace: "spillway-system", Name: "eu-kubeconfig"}, field: "kubeconfig"}
	if got := r.stays(true); got != "" {
		t.Errorf("nothing is left, and it says %q", got)
	}
	const ends = "to remove it: kubectl spillway unbind eu --provider-context CONTEXT"
	if got := r.stays(false); !strings.Contains(got, "if it exists") || !strings.Contains(got, ends) {
		t.Error(got)
	}
	r.others = []string{"us"}
	if got := r.stays(false); got != "" {
		t.Errorf("of a name that may be misspelt it says %q", got)
	}
	r.secret = &corev1.Secret{}
	if got := r.stays(false); got != "" { // The output says that it is kept.
		t.Errorf("of a client certificate it says %q", got)
	}
	r.secret.Data = map[string][]byte{"kubeconfig": document(t, authority(t), "second")}
	if got := r.stays(false); !strings.HasPrefix(got, "what may stay is") {
		t.Errorf("of a binding that was gone before it says %q", got)
	}
	const of = "ServiceAccount spillway-provider/second in the provider at https://eu:6443, with its roles and a token that is valid until 1970-01-01T00:01:40Z"
	for got, want := range map[string]string{
		r.stays(false):                               of + "; " + ends,
		r.stays(true):                                "it is not from kubectl spillway bind",
		r.unfinished(errors.New("away")).Error():     "away; what is left of eu: Secret spillway-system/eu-kubeconfig here, and " + of,
		string(accessOf(r.secret, "kubeconfig").uid): "1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLoss: what a dry run lists, and what the question counts.
func TestLoss(t *testing.T) {
	owned := []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}}
	daemon := []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: ptr.To(true)}}
	pods := []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", OwnerReferences: owned}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "bare"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "agent", OwnerReferences: daemon}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "leaves", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}},
	}
	namespaces := &v1alpha1.NamespaceMap{}
	namespaces.Status.CurrentMapping = []v1alpha1.CurrentMapping{
		{Namespace: "a", RemoteNamespace: "a-home", Phase: v1alpha1.MappingAccepted}, {Namespace: "b", RemoteNamespace: "taken", Phase: v1alpha1.MappingCreationLoopBackOff},
	}
	binding := &v1alpha1.ClusterBinding{}
	binding.Spec.ClusterID, binding.Spec.MountNamespace = "eu", "mounted"
	conditions.Set(&binding.Status.Conditions, 1, conditions.New(v1alpha1.BindingMountNamespaceReady, "True", "Ready", ""))
	tests := map[v1alpha1.DeletionPolicy]struct{ steps, summary string }{
		v1alpha1.DeletionPolicyDrain: {
			"pod/web evicted; pod/bare evicted it has no controller, and is lost; namespace/a-home deleted with everything in it, in eu; namespace/mounted deleted with everything in it, in eu; ",
			"Pods removed from its node: 2. Lost, because without a controller: 1 pod (a/bare). Remote namespaces deleted with everything in them: a-home, mounted.",
		},
		v1alpha1.DeletionPolicyOrphan: {
			"pod/web deleted its node is deleted; the remote pod may still run; pod/bare deleted its node is deleted; the remote pod may still run; " +
				"namespace/a-home kept the deletionPolicy is Orphan; namespace/mounted kept the deletionPolicy is Orphan; ",
			"Pods removed from its node: 2. Remote namespaces kept unchanged: a-home, mounted.",
		},
	}
	for policy, want := range tests {
		binding.Spec.DeletionPolicy = policy
		got, steps := "", loss(binding, pods, namespaces)
		for _, step := range steps {
			got += strings.TrimSpace(step.Object+" "+step.Action+" "+step.Message) + "; "
		}
		if diff := cmp.Diff(want.steps, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", policy, diff)
		}
		if diff := cmp.Diff(want.summary, summary(steps)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", policy, diff)
		}
	}
}

// TestKeeping: a budget is named if the API server would refuse evictions because of it.
func TestKeeping(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase, ready corev1.ConditionStatus) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{"app": "web"}}, Status: corev1.PodStatus{Phase: phase}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		return p
	}
	pods := []corev1.Pod{pod("ready", corev1.PodRunning, "True"), pod("unready", corev1.PodRunning, "False"), pod("pending", corev1.PodPending, "False")}
	budget := func(namespace string, change func(*policyv1.PodDisruptionBudget)) policyv1.PodDisruptionBudget {
		b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		b.Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 2}
		change(&b)
		return b
	}
	for name, test := range map[string]struct {
		budget policyv1.PodDisruptionBudget
		want   []string
	}{
		"it keeps all that run": {budget("a", func(*policyv1.PodDisruptionBudget) {}), []string{"a/web blocks 2 pods (a/ready, a/unready)"}},
		"it has enough others":  {budget("a", func(b *policyv1.PodDisruptionBudget) { b.Status.DesiredHealthy = 1 }), []string{"a/web blocks 1 pod (a/ready)"}},
		"it gives up unready": {budget("a", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
		}), []string{"a/web blocks 1 pod (a/ready)"}},
		"it lets one go":          {budget("a", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }), nil},
		"it is of others":         {budget("a", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "db" }), nil},
		"it has no selector":      {budget("a", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }), nil},
		"it is another namespace": {budget("b", func(*policyv1.PodDisruptionBudget) {}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, keeping([]policyv1.PodDisruptionBudget{test.budget}, pods)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAgreed: users who may not read pods are asked, too, and the question says what is not known.
func TestAgreed(t *testing.T) {
	left := &remains{name: "eu", binding: &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}}
	for name, test := range map[string]struct {
		refusal error
		answer  bool
		asks    string
		want    string
	}{
		"all is known":         {nil, true, "Unbind eu from home? Pods removed from its node: 0. Type yes: ", ""},
		"pods are not for you": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil), true, "What that deletes is not known: reading the pods on spillway-", ""},
		"no answer":            {apierrors.NewInternalError(errors.New("away")), true, "", "away"},
		"you do not want it":   {nil, false, "Type yes: ", "nothing was changed in home"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			err := (&options{}).agreed(t.Context(), func(question string) bool { asked = question; return test.answer }, "home", cluster(t, test.refusal), left, nil)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if !strings.Contains(asked, test.asks) || test.asks == "" && asked != "" {
				t.Errorf("it asks %q", asked)
			}
		})
	}
}

// TestUnproven: if nothing here leads to a provider, its account may be another consumer's.
func TestUnproven(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}}
	there, gone := &cli.Provider{Cluster: cluster(t, nil, account)}, &cli.Provider{Cluster: cluster(t, nil)}
	asked := ""
	ask := func(question string) bool { asked = question; return true }
	for name, test := range map[string]struct {
		left     remains
		provider *cli.Provider
		options  options
		ask      func(string) bool
		want     string
	}{
		"nobody can be asked": {remains{}, there, options{}, nil, "this cluster does not record that typo used the cluster, and the account there may belong to another consumer; --yes deletes it"},
		"you have agreed":     {remains{}, there, options{yes: true}, nil, ""},
		"you are asked":       {remains{}, there, options{}, ask, ""},
		"a Secret says it":    {remains{at: here}, there, options{}, nil, ""},
		"it is done already":  {remains{}, gone, options{}, nil, ""},
		"that stays":          {remains{}, nil, options{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.left.name = "typo"
			err := test.options.agreed(t.Context(), test.ask, "home", nil, &test.left, test.provider)
			if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if !strings.Contains(asked, "The access of consumers to the cluster ends. But this cluster does not record") {
		t.Errorf("it asks %q", asked)
	}
}

// TestCleanInADryRun: the dry run promises only what a run does.
func TestCleanInADryRun(t *testing.T) {
	names := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	names.Status.CurrentMapping = []v1alpha1.CurrentMapping{{Namespace: "a", RemoteNamespace: "a-home", Phase: v1alpha1.MappingAccepted}}
	consumer := cluster(t, nil, names, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "home"}})
	left := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: lease.Name(provenance.Mark{Origin: "home", ClusterID: "eu"})}}
	left.Spec.HolderIdentity, left.Spec.RenewTime = ptr.To("them"), ptr.To(metav1.NewMicroTime(time.Now().Add(-3*time.Hour)))
	bound := func(policy v1alpha1.DeletionPolicy) *v1alpha1.ClusterBinding {
		b := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
		b.Spec.ClusterID, b.Spec.DeletionPolicy = "eu", policy
		return b
	}
	drains := bound(v1alpha1.DeletionPolicyDrain)
	for name, test := range map[string]struct {
		binding   *v1alpha1.ClusterBinding
		namespace string
		deletes   bool
		warns     string
		err       string
	}{
		"its namespaces go with it":   {drains, "a-home", true, "", ""},
		"another consumer is there":   {drains, "b-other", false, "once ClusterBinding eu is gone, the account in the cluster is kept, because a consumer still has objects there: Namespace b-other;", ""},
		"its namespaces stay":         {bound(v1alpha1.DeletionPolicyOrphan), "a-home", false, "a consumer still has objects there: Namespace a-home;", ""},
		"the binding is gone already": {nil, "a-home", false, "", "; Lease " + left.Name + " is held by them, and was last renewed 3h ago; if its consumer no longer exists: kubectl delete lease " + left.Name + " -n spillway-provider"},
	} {
		t.Run(name, func(t *testing.T) {
			provider := cluster(t, nil, left, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: test.namespace, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}}})
			said, quiet := &strings.Builder{}, &strings.Builder{}
			f := &cli.Factory{IOStreams: genericiooptions.IOStreams{Out: said, ErrOut: quiet}}
			output, err := cli.NewOutput(f, "unbind", "json", true)
			if err != nil {
				t.Fatal(err)
			}
			o := &options{Run: cli.Run{DryRun: true}}
			done, err := o.clean(t.Context(), consumer, provider, output, &remains{name: "eu", binding: test.binding})
			if done != test.deletes || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, %v", done, err)
			}
			if err := output.End(f, nil); err != nil {
				t.Fatal(err)
			}
			if deletes := strings.Contains(said.String(), `"deleted"`); deletes != test.deletes || !strings.Contains(said.String(), test.warns) || test.warns == "" && strings.Contains(said.String(), "warnings") {
				t.Errorf("it says %s", said)
			}
		})
	}
}

// cluster returns a cluster with these objects. It refuses to list pods if refusal is not nil.
func cluster(t *testing.T, refusal error, all ...client.Object) *cli.Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	refuse := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, pods := list.(*corev1.PodList); pods && refusal != nil {
			return refusal
		}
		return c.List(ctx, list, options...)
	}}
	return &cli.Cluster{Name: "the cluster", WithWatch: fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(refuse).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(pod client.Object) []string { return []string{pod.(*corev1.Pod).Spec.NodeName} }).Build()}
}

// TestMissing: unbind can run again after it has succeeded, and says that it did nothing, because the name may be misspelt.
func TestMissing(t *testing.T) {
	other := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "us"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: cli.SecretName("eu"), Labels: map[string]string{cli.LabelManagedBy: cli.Owner}}}
	const nothing = "there is no ClusterBinding eu; existing ones: us. Nothing was changed."
	for name, test := range map[string]struct {
		left          []client.Object
		dryRun        bool
		warns, prints string
	}{
		"nothing is left":           {[]client.Object{other}, false, nothing, ""},
		"nothing is, in a dry run":  {[]client.Object{other}, true, nothing, ""},
		"an earlier run has failed": {[]client.Object{other, secret}, false, "", "there is no ClusterBinding eu; existing ones: us\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			f := &cli.Factory{ConfigFlags: genericclioptions.NewConfigFlags(false), IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errs}}
			output, err := cli.NewOutput(f, "unbind", "", test.dryRun)
			if err != nil {
				t.Fatal(err)
			}
			consumer := cluster(t, nil, test.left...)
			consumer.Config = &rest.Config{}
			if err := (&options{Run: cli.Run{DryRun: test.dryRun}}).run(t.Context(), f, consumer, output, "eu"); err != nil {
				t.Error(err)
			}
			if (errs.Len() > 0) != (test.warns != "") || !strings.Contains(errs.String(), test.warns) || !strings.Contains(out.String(), test.prints) {
				t.Errorf("it warns of %q, and says %q", errs.String(), out.String())
			}
		})
	}
}

func TestHosted(t *testing.T) {
	binding := &v1alpha1.ClusterBinding{}
	binding.Name = "shop"
	if err := Hosted(binding); err != nil {
		t.Error(err)
	}
	binding.Labels = map[string]string{"hosted.spillway.io/cluster": "uid"}
	if err := Hosted(binding); err == nil || !strings.Contains(err.Error(), "remove spec.binding of HostedCluster shop first") {
		t.Errorf("got %v", err)
	}
}

func TestDraining(t *testing.T) {
	binding := &v1alpha1.ClusterBinding{}
	binding.Name = "eu"
	if got := Draining(binding); !strings.Contains(got, "not seen it yet") {
		t.Error(got)
	}
	for reason, want := range map[string]string{
		v1alpha1.ReasonEvictingPods:        "EvictingPods: because",
		v1alpha1.ReasonProviderUnreachable: `kubectl patch clusterbinding eu --type=merge -p '{"spec":{"deletionPolicy":"Orphan"}}'`,
	} {
		binding.Status.Conditions = nil
		conditions.Set(&binding.Status.Conditions, 1, conditions.New(v1alpha1.BindingDrained, "False", reason, "because"))
		if got := Draining(binding); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
