// Package chart compares the Helm charts with the output that kustomize builds from config, and installs the
// charts on an API server. There are no nodes, so no pod of a chart runs.
package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/check"
	"github.com/spillway-io/spillway/test/manifests"
)

const keep = "helm.sh/resource-policy"

// charts are the charts, each with its namespace and its kustomization.
var charts = []struct{ chart, namespace, kustomized string }{
	{"spillway", "spillway-system", "config/default"},
	{"spillway-provider", "spillway-provider", "config/provider"},
}

// program returns the path of Helm, which it builds if necessary. The go command takes longer to find Helm
// than Helm takes to run.
var program = sync.OnceValues(func() (string, error) {
	command := exec.Command("go", "tool", "-modfile=go.helm.mod", "-n", "helm")
	command.Dir, command.Stderr = filepath.Join("..", ".."), os.Stderr
	out, err := command.Output()
	return strings.TrimSpace(string(out)), err
})

// helm runs Helm. It returns the output of Helm, or Helm's whole error message.
func helm(ctx context.Context, t *testing.T, arguments ...string) ([]byte, error) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("building Helm: %v", err)
	}
	command := exec.CommandContext(ctx, path, arguments...)
	command.Dir = filepath.Join("..", "..")
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("helm %s: %w\n%s", strings.Join(arguments, " "), err, &problems)
	}
	return out, err
}

// The APIs that an API server serves, on which the mode Auto depends. Without either value, Helm does not
// know what the server serves.
const (
	anyServer   = "v1/Pod"
	withPolicy  = anyServer + ",admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
	consumersIn = "spillway-system"
)

// TestSameObjects: with the shipped values, a chart has the same objects as kustomize, except for the
// namespace, which helm install creates. CRDs stay when the chart is uninstalled. The same holds for the
// values that select another kustomization.
func TestSameObjects(t *testing.T) {
	for _, c := range charts {
		compare(t, c.kustomized, c.chart, c.namespace)
	}
	compare(t, "config/provider-trusted", "spillway-provider", "spillway-provider", "--set", "profile=trusted")
	compare(t, "config/shard", "spillway", consumersIn, "--set", "shard=true,replicas=3")
	compare(t, "config/webhook", "spillway", consumersIn, "--set", "admission.mode=Webhook", "--api-versions", withPolicy)
	compare(t, "config/webhook", "spillway", consumersIn, "--api-versions", anyServer)
	compare(t, "config/default", "spillway", consumersIn, "--api-versions", withPolicy)
}

func compare(t *testing.T, directory, name, namespace string, arguments ...string) {
	t.Helper()
	want, err := manifests.Kustomized(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	got := rendered(t, name, append([]string{"--namespace", namespace, "--no-hooks"}, arguments...)...)
	if directory == "config/webhook" {
		choosing(t, want)
	}
	for _, object := range got {
		annotations := object.GetAnnotations()
		if _, keeps := annotations[keep]; keeps != (object.GetKind() == "CustomResourceDefinition") {
			t.Errorf("%s %s stays when the chart goes: %t", object.GetKind(), object.GetName(), keeps)
		}
		delete(annotations, keep)
		object.SetAnnotations(annotations)
	}
	if diff := cmp.Diff(byName(manifests.Without(want, "Namespace")), byName(got)); diff != "" {
		t.Errorf("%s (-kustomize +chart):\n%s", directory, diff)
	}
}

// choosing makes the manager serve the webhook whatever else exists, because the chart has already chosen.
func choosing(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := object.UnmarshalJSON(bytes.Replace(raw, []byte("--pod-admission=Auto"), []byte("--pod-admission=Webhook"), 1)); err != nil {
			t.Fatal(err)
		}
	}
}

func rendered(t *testing.T, name string, arguments ...string) []*unstructured.Unstructured {
	t.Helper()
	out, err := helm(t.Context(), t, append([]string{"template", "test", "charts/" + name}, arguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Decode("chart "+name, out)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// byName indexes objects by kind, namespace and name.
func byName(objects []*unstructured.Unstructured) map[string]any {
	all := map[string]any{}
	for _, object := range objects {
		all[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return all
}

// TestValues: the objects have the chosen values, in any namespace.
func TestValues(t *testing.T) {
	const elsewhere = "elsewhere"
	objects := rendered(t, "spillway", "--namespace", elsewhere, "--set", "daemonSets=Exclude,clusterID=home,replicas=3,image.tag=v1,image.pullPolicy=Never,admission.mode=Webhook,shard=true",
		"--set-json", `tolerations=[{"key":"a"}]`, "--set-json", `imagePullSecrets=[{"name":"registry"}]`, "--set-json", `extraArgs=["--zap-log-level=debug"]`)
	var kinds []string
	text := ""
	for _, object := range objects {
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
		kinds = append(kinds, object.GetKind()+" "+object.GetName())
	}
	if strings.Contains(text, "spillway-system") {
		t.Error("something still names the namespace spillway-system")
	}
	for _, want := range []string{
		"system:serviceaccount:" + elsewhere + ":spillway-manager", `"--cluster-id=home"`, `"--zap-log-level=debug"`, `"--pod-admission=Webhook"`, `"--shard"`, `"replicas":3`,
		`"image":"ghcr.io/spillway-io/spillway:v1"`, `"imagePullPolicy":"Never"`, `"imagePullSecrets":[{"name":"registry"}]`, `"tolerations":[{"key":"a"}]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing has %s", want)
		}
	}
	for _, want := range []string{"MutatingAdmissionPolicy spillway-daemonsets", "Job spillway-check-removal", "Pod spillway-check-installation", "MutatingWebhookConfiguration spillway-pods", "Role spillway-replicas"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("there is no %s", want)
		}
	}
	limits := rendered(t, "spillway-provider", "--namespace", "spillway-provider", "--set", "profile=trusted,limits.podSecurity=baseline")
	for _, object := range limits {
		if data, _, _ := unstructured.NestedStringMap(object.Object, "data"); object.GetKind() == "ConfigMap" && (data["podSecurity"] != "baseline" || data["volumeTypes"] != "*") {
			t.Errorf("the limits are %v", data)
		}
	}
}

// TestLimits: a value can set each key of the limits.
func TestLimits(t *testing.T) {
	limits := func(arguments ...string) map[string]string {
		for _, object := range rendered(t, "spillway-provider", append([]string{"--namespace", "spillway-provider"}, arguments...)...) {
			if object.GetKind() == "ConfigMap" && object.GetName() == v1alpha1.LimitsName {
				data, _, _ := unstructured.NestedStringMap(object.Object, "data")
				return data
			}
		}
		t.Fatal("there are no limits")
		return nil
	}
	want := limits()
	var set []string
	for key := range want {
		want[key] = "privileged" // A value that podSecurity may have.
		set = append(set, "limits."+key+"=privileged")
	}
	if diff := cmp.Diff(want, limits("--set", strings.Join(set, ","))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWrongValues: a value without a meaning is refused, and the error names the key and the reason.
func TestWrongValues(t *testing.T) {
	for _, test := range []struct{ chart, namespace, set, want string }{
		{"spillway", "x", "admission.mode=None", "value must be one of 'Auto', 'Policy', 'Webhook'"},
		{"spillway", "x", "admission.mode=Policy", "admission.mode: Policy needs MutatingAdmissionPolicy"},
		{"spillway", "x", "daemonSets=Exclude", "daemonSets: Exclude needs MutatingAdmissionPolicy"},
		{"spillway", "x", "extraArgs={--webhook-port=9444}", "extraArgs: --webhook-port would differ from the port of the container"},
		{"spillway", "x", "daemonSets=No", "value must be one of 'Keep', 'Exclude'"},
		{"spillway", "x", "clusterId=a", "additional properties 'clusterId' not allowed"},
		{"spillway-provider", "x", "profile=trusted", "this chart is for namespace spillway-provider, and not for x: add --namespace spillway-provider --create-namespace"},
		{"spillway-provider", "spillway-provider", "profile=open", "value must be one of 'confined', 'trusted'"},
		{"spillway-provider", "spillway-provider", "limits.tolerations=a", "additional properties 'tolerations' not allowed"},
	} {
		if _, err := helm(t.Context(), t, "template", "test", "charts/"+test.chart, "--namespace", test.namespace, "--set", test.set, "--api-versions", anyServer); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %s: %v, want %q", test.chart, test.set, err, test.want)
		}
	}
}

// TestInstall installs both charts on an API server, which must accept all of their objects. It upgrades one
// chart to another profile.
func TestInstall(t *testing.T) {
	env := &envtest.Environment{BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS")}
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		run(t, "install", c.chart, "charts/"+c.chart, "--kubeconfig", kubeconfig, "--namespace", c.namespace, "--create-namespace")
	}
	run(t, "upgrade", "spillway-provider", "charts/spillway-provider", "--kubeconfig", kubeconfig, "--namespace", "spillway-provider", "--set", "profile=trusted,limits.namePattern=.*-demo")
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	limits := &unstructured.Unstructured{}
	limits.SetAPIVersion("v1")
	limits.SetKind("ConfigMap")
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "spillway-provider", Name: "limits"}, limits); err != nil {
		t.Fatal(err)
	}
	if data, _, _ := unstructured.NestedStringMap(limits.Object, "data"); data["podSecurity"] != "privileged" || data["namePattern"] != ".*-demo" {
		t.Errorf("after the upgrade, the limits are %v", data)
	}
	checks(t, config)
	for _, test := range []struct {
		set             string
		policy, webhook bool
	}{
		{"", true, false}, {"admission.mode=Webhook,shard=true", false, true}, {"admission.mode=Auto", true, false},
	} {
		if test.set != "" {
			run(t, "upgrade", "spillway", "charts/spillway", "--kubeconfig", kubeconfig, "--namespace", consumersIn, "--set", test.set)
		}
		if policy, webhook := there(t, c, "MutatingAdmissionPolicy"), there(t, c, "MutatingWebhookConfiguration"); policy != test.policy || webhook != test.webhook {
			t.Errorf("with %q, there is a policy: %t, a webhook: %t", test.set, policy, webhook)
		}
	}
	run(t, "uninstall", "spillway", "--kubeconfig", kubeconfig, "--namespace", "spillway-system", "--no-hooks")
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := c.Get(t.Context(), client.ObjectKey{Name: "clusterbindings.offloading.spillway.io"}, crd); err != nil || crd.GetDeletionTimestamp() != nil {
		t.Errorf("the CRD, and with it all ClusterBindings, went with the chart: %v", err)
	}
}

// there reports whether the API server has the object of this kind that prepares pods.
func there(t *testing.T, c client.Client, kind string) bool {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("admissionregistration.k8s.io/v1")
	object.SetKind(kind)
	err := c.Get(t.Context(), client.ObjectKey{Name: v1alpha1.PodAdmissionName}, object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// checks runs the checks of the chart's Job and Pod, with the rights of the manager's account.
func checks(t *testing.T, config *rest.Config) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:spillway-system:spillway-manager", Groups: []string{"system:authenticated"}}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	account, err := client.New(as, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Removal(t.Context(), account); err != nil {
		t.Errorf("nothing is left, and it may not go: %v", err)
	}
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{
		ClusterID: "eu", KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: "eu"},
	}}
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	if err := check.Removal(t.Context(), account); err == nil || !strings.Contains(err.Error(), "clusters bound (eu)") {
		t.Errorf("a cluster is bound, and it may go: %v", err)
	}
	if _, err := check.Installation(t.Context(), account, "spillway-system", time.Now()); !apierrors.IsNotFound(err) {
		t.Errorf("no manager is active, and the check says: %v", err)
	}
	now := metav1.NowMicro()
	held := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-system", Name: check.LeaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("one"), LeaseDurationSeconds: ptr.To(int32(3600)), RenewTime: &now,
	}}
	if err := admin.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if says, err := check.Installation(t.Context(), account, "spillway-system", time.Now()); err != nil || says != "manager one is active; 0 of 1 ClusterBindings are Ready" {
		t.Errorf("a manager works, and the check says %q (%v)", says, err)
	}
}

func run(t *testing.T, arguments ...string) {
	t.Helper()
	if _, err := helm(t.Context(), t, arguments...); err != nil {
		t.Fatal(err)
	}
}
