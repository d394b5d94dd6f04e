package admission

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/pages"
)

// workload is a pod of testdata/workloads.yaml.
type workload struct {
	Workload, Asks string
	Token          bool
	Pod            corev1.Pod
}

// TestWorkloads sends pods of common applications through the consumer's admission, the translation, and the
// admission of a provider of each profile. docs/workloads.md has the results; UPDATE_DOCS=1 writes them
// there.
func TestWorkloads(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "workloads.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []workload
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		t.Fatal(err)
	}
	home := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	confined := profileIn(t, server(t), "provider")
	changing(t).become(t, shippedLimits(t, "provider-trusted"))
	trusted := profileIn(t, spare(t), "provider-trusted")

	table := "| workload | confined | trusted | what it asks for |\n|---|---|---|---|\n"
	for i := range all {
		w := &all[i]
		local := w.admitted(t, home, fmt.Sprintf("workload-%d", i))
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", w.Workload, confined.takes(t, local), trusted.takes(t, local), w.Asks)
	}
	const page, command = "docs/workloads.md", "go test ./test/admission -run TestWorkloads"
	if os.Getenv("UPDATE_DOCS") == "1" {
		if err := pages.Update(filepath.Join(root, page), "workloads", command, table); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile(filepath.Join(root, page)); err != nil || !strings.Contains(string(written), table) {
		t.Errorf("%s does not have what was seen (%v); UPDATE_DOCS=1 %s writes it:\n%s", page, err, command, table)
	}
}

// admitted returns the pod as the consumer's API server creates it. The test's API servers have no
// ServiceAccount admission, so this function adds the token's volume.
func (w *workload) admitted(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pod := w.Pod.DeepCopy()
	pod.Namespace, pod.Name = namespace, name
	if w.Token {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}},
		}})
	}
	if err := server(t).Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Fatalf("%s is refused by the consumer: %v", w.Workload, err)
	}
	if ofDaemonSet := metav1.GetControllerOf(pod) != nil && metav1.GetControllerOf(pod).Kind == "DaemonSet"; !ofDaemonSet && !toleratesVirtualNodes(pod) {
		t.Errorf("%s gets no toleration of virtual nodes", w.Workload)
	}
	return pod
}

// inProfile is a provider with a profile: a namespace there, and the client that sends to it.
type inProfile struct {
	client.Client
	limits *field.Limits
	target field.Target
}

// profileIn waits until the provider's policies have the limits of the profile.
func profileIn(t *testing.T, s *apiServer, directory string) inProfile {
	t.Helper()
	limits := field.LimitsOf(shippedLimits(t, directory))
	p := inProfile{Client: s.consumer(t, shippedAccount), limits: limits, target: field.Target{
		Mark:      provenance.Mark{Origin: "origin", ClusterID: "eu", Account: shippedAccount},
		Namespace: namespaceIn(t, s, enforcing(limits.Enforced())),
	}}
	becomes(t, p, podOf(metav1.ObjectMeta{Namespace: p.target.Namespace, Name: "probe", Labels: mark()}), "")
	return p
}

// takes returns what happens to a pod. The provider's API server must accept what the translation sends. For
// a pod that is not sent, it returns the reason.
func (p inProfile) takes(t *testing.T, local *corev1.Pod) string {
	t.Helper()
	if refusal := accept.Refusal(local, accept.Provider{Limits: p.limits}); refusal != nil {
		field, _, _ := strings.Cut(refusal.Message, " ")
		return fmt.Sprintf("no: `%s` (%s)", strings.TrimSuffix(field, ":"), refusal.Reason)
	}
	remote := pod.ToRemote(local, p.target, p.limits, nil)
	if err := p.Create(t.Context(), remote.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("%s: the provider of profile %s refuses what is sent: %v", local.Name, p.limits.Profile, err)
	}
	var without []string
	for _, what := range append(pod.Withheld(local, remote, p.limits), token.Withheld(local)) {
		what, _, _ = strings.Cut(what, ": ")
		if what, _, _ = strings.Cut(what, " is not sent"); what != "" {
			without = append(without, what)
		}
	}
	if without == nil {
		return "yes"
	}
	return "yes, without " + strings.Join(without, "; ")
}

// shippedLimits returns the limits of a profile. directory is its directory of config/.
func shippedLimits(t *testing.T, directory string) map[string]string {
	t.Helper()
	objects, err := config.Objects(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() == "ConfigMap" && object.GetName() == config.Limits {
			data, _, err := unstructured.NestedStringMap(object.Object, "data")
			if err != nil {
				t.Fatal(err)
			}
			return maps.Clone(data)
		}
	}
	t.Fatal("there are none")
	return nil
}
