package admission

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/pages"
)

// workload is a pod of testdata/workloads.yaml.
type workload struct {
	Workload, Asks string
	Token          bool
	// SelectedBy are the keys of labels by which the application's own Services and NetworkPolicies select its pods.
	SelectedBy []string
	Pod        corev1.Pod
}

// TestWorkloads sends pods of common applications, and their claims, through the consumer's admission, the
// translation, and the admission of a provider of each profile. docs/workloads.md has the results;
// UPDATE_DOCS=1 writes them there.
func TestWorkloads(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "workloads.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []workload
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		t.Fatal(err)
	}
	home, limits := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote}), changing(t)
	says, whole := map[string][]string{}, map[string]int{}
	for name, data := range map[string]map[string]string{
		"confined": shippedLimits(t, "provider"), "trusted": shippedLimits(t, "provider-trusted"),
	} {
		p := limits.profile(t, data)
		for i := range all {
			said := p.takes(t, &all[i], all[i].admitted(t, home, fmt.Sprintf("workload-%d", i)))
			says[name] = append(says[name], said)
			if isWhole(said) {
				whole[name]++
			}
		}
	}
	table, claims, tokens := "", 0, 0
	for i := range all {
		w := &all[i]
		claims += min(1, len(needs.Claims(&w.Pod)))
		if w.Token {
			tokens++
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", w.Workload, says["confined"][i], says["trusted"][i], w.Asks)
	}
	table = fmt.Sprintf("Of these %d, a trusted provider runs %d whole. A confined one runs %d whole. "+
		"%d have claims, whose volumes the provider creates. %d get a token of the consumer's API.\n\n"+
		"| workload | confined | trusted | what it asks for |\n|---|---|---|---|\n", len(all), whole["trusted"], whole["confined"], claims, tokens) + table
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

// profile makes the spare provider one with these limits, which list one StorageClass besides.
func (l limits) profile(t *testing.T, data map[string]string) inProfile {
	t.Helper()
	data[field.LimitStorageClasses] = storageClass
	l.become(t, data)
	limits := field.LimitsOf(data)
	p := inProfile{Client: spare(t).consumer(t, shippedAccount), limits: limits, target: field.Target{
		Mark:      provenance.Mark{Origin: "origin", ClusterID: "eu", Account: shippedAccount},
		Namespace: namespaceIn(t, spare(t), enforcing(limits.Enforced())),
	}}
	becomes(t, p, podOf(metav1.ObjectMeta{Namespace: p.target.Namespace, Name: "probe", Labels: mark()}), "")
	becomes(t, p, classed(storageClass)(metav1.ObjectMeta{Namespace: p.target.Namespace, Name: "probe", Labels: mark()}), "")
	return p
}

const (
	// storageClass is the provider's class with which it creates volumes.
	storageClass = "standard"
	// whollySent says that a pod has all that it asks for, and notSelected begins what only software of the consumer
	// reads.
	whollySent  = "whole"
	notSelected = ", less "
)

// isWhole reports whether a pod has all that it asks for.
func isWhole(said string) bool {
	return said == whollySent || strings.HasPrefix(said, whollySent+notSelected)
}

// access gives every account tokens of the consumer's API.
var access = field.ConsumerAPI{
	Endpoint: &v1alpha1.ConsumerAPI{Host: "api.example.com", Port: 443}, Lists: func(string, string) bool { return true },
}

// takes returns what happens to a pod. The provider's API server must accept what the translation sends, for its
// claims, too. For a pod that is not sent, it returns the reason.
func (p inProfile) takes(t *testing.T, w *workload, local *corev1.Pod) string {
	t.Helper()
	if refusal := accept.Refusal(local, accept.Provider{Limits: p.limits, API: access}); refusal != nil {
		field, _, _ := strings.Cut(refusal.Message, " ")
		return fmt.Sprintf("no: `%s` (%s)", strings.TrimSuffix(field, ":"), refusal.Reason)
	}
	var api *v1alpha1.ConsumerAPI
	if token.Granted(local, access) != nil {
		api = access.Endpoint
	}
	remote := pod.WithAPI(local, p.target, p.limits, nil, api)
	if err := p.Create(t.Context(), remote.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("%s: the provider of profile %s refuses what is sent: %v", local.Name, p.limits.Profile, err)
	}
	for _, name := range needs.Claims(local) {
		p.creates(t, name)
	}
	return w.lacks(local, remote, p.limits)
}

// lacks says whether the remote pod has all that the workload asks for, and what it lacks. It has a label if selectors
// find it by the label.
func (w *workload) lacks(local, remote *corev1.Pod, limits *field.Limits) string {
	var without, less []string
	for key := range local.Labels {
		if _, sent := remote.Labels[field.PodLabel(key)]; sent {
			continue
		}
		if slices.Contains(w.SelectedBy, key) {
			without = append(without, "label "+key)
		} else {
			less = append(less, "label "+key)
		}
	}
	for key := range local.Annotations {
		if _, sent := remote.Annotations[key]; !sent && field.IsCopiedAnnotation(key) {
			less = append(less, "annotation "+key)
		}
	}
	for _, what := range append(pod.Withheld(local, remote, limits), pod.WithheldToken(local, remote)) {
		what, _, _ = strings.Cut(what, ": ")
		what, _, _ = strings.Cut(what, " is not sent")
		if what != "" && !strings.HasPrefix(what, "label ") && !strings.HasPrefix(what, "annotation ") {
			without = append(without, what)
		}
	}
	slices.Sort(without)
	slices.Sort(less)
	switch {
	case without != nil:
		return "without " + strings.Join(without, "; ")
	case less != nil:
		return whollySent + notSelected + field.Few(less, 3)
	default:
		return whollySent
	}
}

// creates sends a claim whose volume the provider shall create.
func (p inProfile) creates(t *testing.T, name string) {
	t.Helper()
	const node, class = v1alpha1.VirtualNodePrefix + "eu", "eu-standard"
	local := classed(class)(metav1.ObjectMeta{Namespace: "home", Name: name, UID: "claim-uid", Annotations: map[string]string{
		field.AnnotationStorageProvisioner: v1alpha1.StorageDriver, field.AnnotationSelectedNode: node,
	}})
	translation, ok := persistentvolumeclaim.Kind().Syncer.(decide.Translation[*corev1.PersistentVolumeClaim])
	if !ok {
		t.Fatal("claims are no copies any more")
	}
	remote, refusal := translation.Remote(local, p.target, decide.Inputs{
		Provides: true, Node: node, Limits: p.limits, Waiting: func(string) []corev1.Pod { return nil }, Classes: field.Classes{{Kind: v1alpha1.ClassStorage, Name: class, RemoteName: storageClass}},
	})
	if refusal != nil {
		t.Fatalf("claim %s is not sent: %s", name, refusal.Message)
	}
	if err := p.Create(t.Context(), remote, client.DryRunAll); err != nil {
		t.Errorf("claim %s: the provider of profile %s refuses what is sent: %v", name, p.limits.Profile, err)
	}
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
