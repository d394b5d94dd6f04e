package unbind

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/conditions"
)

// TestAccess: what gives access goes, and what confines it stays.
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
	for _, kind := range []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} {
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

// TestAccessBeginsAnew: the mark of a first time is deleted first, or a bind after a deletion
// that was broken off would leave rights out.
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

func TestMayClean(t *testing.T) {
	binding := func(name, uid string) v1alpha1.ClusterBinding {
		b := v1alpha1.ClusterBinding{}
		b.Name, b.Status.RemoteClusterUID = name, uid
		return b
	}
	tests := map[string]struct {
		bindings []v1alpha1.ClusterBinding
		want     string
	}{
		"it is its provider":     {[]v1alpha1.ClusterBinding{binding("us", "us"), binding("eu", "there")}, ""},
		"it is another cluster":  {[]v1alpha1.ClusterBinding{binding("eu", "elsewhere")}, "is not the provider of the binding"},
		"there is no binding":    {[]v1alpha1.ClusterBinding{binding("us", "us")}, "kubectl delete clusterrolebinding,serviceaccount spillway-consumer -n spillway-provider"},
		"it was never connected": {[]v1alpha1.ClusterBinding{binding("eu", "")}, "is not known"},
		"another one leads there": {[]v1alpha1.ClusterBinding{binding("eu", "there"), binding("second", "there")},
			"ClusterBinding second leads to"},
		"only another one leads there": {[]v1alpha1.ClusterBinding{binding("second", "there")}, "ClusterBinding second leads to"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := mayClean("eu", "there", "the provider", test.bindings)
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
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PodSpec{NodeSelector: selector}}
	}
	own, eu, us := node("own", ""), node("spillway-eu", v1alpha1.NodeTypeVirtual), node("spillway-us", v1alpha1.NodeTypeVirtual)
	goes := pod("goes", map[string]string{"name": "spillway-eu"})
	goes.DeletionTimestamp = ptr.To(metav1.Now())
	pods := []corev1.Pod{
		pod("anywhere", nil), pod("virtual", map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}),
		pod("eu", map[string]string{"name": "spillway-eu"}), pod("us", map[string]string{"name": "spillway-us"}), goes,
	}
	if got := OnlyThere(pods, []corev1.Node{own, eu, us}, eu.Name).String(); got != "1 pod (team/eu)" {
		t.Errorf("of two providers: %s", got)
	}
	if got := OnlyThere(pods, []corev1.Node{own, eu}, eu.Name).String(); got != "2 pods (team/eu, team/virtual)" {
		t.Errorf("of the last provider: %s", got)
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
	if got := Draining(binding); !strings.Contains(got, "not taken it up") {
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
