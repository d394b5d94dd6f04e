package doctor

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/check"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/install"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// serving is a cluster whose mapper says whether it serves the policy for pods.
type serving struct {
	client.WithWatch
	mapper meta.RESTMapper
}

func (s serving) RESTMapper() meta.RESTMapper { return s.mapper }

// TestExpect: doctor expects what was installed, on API servers that serve the policy and on older ones.
func TestExpect(t *testing.T) {
	named := metav1.ObjectMeta{Name: v1alpha1.PodAdmissionName}
	webhook, policy := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named}, &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: named}
	for name, test := range map[string]struct {
		served  bool
		objects []client.Object
		webhook bool
		want    string
	}{
		"nothing is installed":       {true, nil, false, ""},
		"the policy":                 {true, []client.Object{policy}, false, ""},
		"the webhook, on 1.36":       {true, []client.Object{webhook}, true, ""},
		"the webhook was left":       {true, []client.Object{policy, webhook}, false, "kubectl delete mutatingwebhookconfiguration spillway-pods; kubectl delete clusterrolebinding,clusterrole spillway-webhook"},
		"nothing, on 1.35":           {false, nil, true, ""},
		"the webhook, as it must be": {false, []client.Object{webhook}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mapper := meta.NewDefaultRESTMapper(nil)
			if test.served {
				mapper.Add(install.PodsPolicy, meta.RESTScopeRoot)
			}
			i := &installation{run: &run{consumer: &cli.Cluster{WithWatch: serving{consumerOf(t, nil, test.objects...), mapper}}}}
			if err := i.expect(t.Context()); err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(i.shipped, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == "MutatingAdmissionPolicy" && o.GetName() == v1alpha1.PodAdmissionName
			})
			if hasWebhook(i.shipped) != test.webhook || has == test.webhook {
				t.Errorf("webhook: %t, policy: %t", hasWebhook(i.shipped), has)
			}
			if len(i.findings) > 1 || (len(i.findings) == 1) != (test.want != "") || test.want != "" && !strings.Contains(i.findings[0].Mend, test.want) {
				t.Errorf("got %+v", i.findings)
			}
		})
	}
}

// TestLogsOfAProviderThatIsAway: missing logs of an absent provider say nothing about the connection to the
// manager.
func TestLogsOfAProviderThatIsAway(t *testing.T) {
	binding := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
	conditions.Set(&binding.Status.Conditions, 0, conditions.New(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonUnreachable, "away"))
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu"}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}, Spec: corev1.PodSpec{NodeName: node.Name}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	p := &providers{&run{consumer: consumerOf(t, nil)}, status.Seen{Bindings: []v1alpha1.ClusterBinding{binding}, Nodes: []corev1.Node{node}, Pods: []corev1.Pod{pod}}}
	p.binding(t.Context(), status.Tree(p.seen).Bindings[0])
	if slices.ContainsFunc(p.findings, func(f Finding) bool { return f.Check == "logs" }) {
		t.Errorf("got %+v", p.findings)
	}
}

// TestLogsOfGroups: a provider that has only virtual nodes of groups is checked as well, on the first with a pod.
func TestLogsOfGroups(t *testing.T) {
	asked := 0
	consumer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer consumer.Close()
	pod := func(name, node string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "app"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	}
	p := &providers{&run{consumer: &cli.Cluster{Config: &rest.Config{Host: consumer.URL}}}, status.Seen{Pods: []corev1.Pod{pod("web", "spillway-eu.b"), pod("db", "spillway-eu.c")}}}
	p.logsOf(t.Context(), status.Binding{Groups: []status.Node{{Name: "spillway-eu.a"}, {Name: "spillway-eu.b"}, {Name: "spillway-eu.c"}}})
	if len(p.findings) != 1 || p.findings[0].Object != "spillway-eu.b" || p.findings[0].Level != OK || asked != 1 {
		t.Errorf("it asks %d times, and found %+v", asked, p.findings)
	}
}

// TestOutside: without a Deployment, a held Lease shows that a manager runs elsewhere.
func TestOutside(t *testing.T) {
	lease := func(renewed time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: check.LeaseName}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("laptop_1"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: &metav1.MicroTime{Time: renewed},
		}}
	}
	for name, test := range map[string]struct {
		objects []client.Object
		level   Level
		want    string
	}{
		"there is no manager": {nil, Error, "manager: not available: there is no Deployment"},
		"it runs elsewhere":   {[]client.Object{lease(time.Now())}, OK, "manager: available, outside of this cluster, as laptop_1"},
		"beside a Deployment without replicas": {[]client.Object{lease(time.Now()), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.Manager}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)},
		}}, OK, "manager: available, outside of this cluster, as laptop_1"},
		"it has ended": {[]client.Object{lease(time.Now().Add(-2 * time.Hour))}, Error, "manager: not available: there is no Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &unstructured.Unstructured{}
			deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			deployment.SetNamespace(config.Namespace)
			deployment.SetName(config.Manager)
			i := &installation{&run{consumer: consumerOf(t, nil, test.objects...)}, []*unstructured.Unstructured{deployment}}
			if _, err := i.installed(t.Context()); err != nil {
				t.Fatal(err)
			}
			seen, err := status.Read(t.Context(), i.consumer, "")
			if err != nil {
				t.Fatal(err)
			}
			(&exam{i.run, seen}).manager()
			if len(i.findings) != 2 || i.findings[0].Level != test.level || i.findings[1].Level != test.level {
				t.Errorf("got %+v", i.findings)
			}
			if text := status.Text(status.Tree(seen), false); !strings.Contains(text, test.want) {
				t.Errorf("status says %s", text)
			}
		})
	}
}
