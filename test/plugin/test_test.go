package plugin

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/bind"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

// TestTest seeds faults one at a time. kubectl spillway test must name each of them, and nothing may be left. It runs
// after TestStory, whose provider is new.
func TestTest(t *testing.T) {
	before(t)
	does(t, "install", "--wait=false", "--image", "none:1", "--cluster-id", "home")
	startManager(t)
	available(t)
	node(t)
	does(t, "bind", "eu", "--provider-context", "eu")
	network(t, "10.0.0.0/24") // What kwok gives to pods.
	defer does(t, "uninstall", "--all")
	passes(t)
	played := faults
	if testing.Short() {
		played = faults[:1] // make test-long PART=plugin plays them all.
	}
	for _, f := range played {
		t.Run(f.name, func(t *testing.T) {
			undo := f.seed(t)
			args := append([]string{"test", "eu", "--timeout", "40s"}, f.args...)
			out, err := spillway(t, args...)
			undo(t)
			if f.fails && (err == nil || !strings.Contains(err.Error(), "1 of 1 providers failed: eu")) {
				t.Errorf("it does not fail: %v", err)
			}
			for _, want := range f.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			leavesNothing(t)
			boundAgain(t)
		})
	}
	quota(t)
	interrupted(t)
	drains(t)
	spills(t)
}

// before runs doctor --pre in clusters in which nothing is installed.
func before(t *testing.T) {
	levels := func(args ...string) map[string]doctor.Level {
		out, _ := spillway(t, append([]string{"doctor", "--pre", "-o", "json"}, args...)...)
		return worstOf(t, out)
	}
	for check, level := range levels("--provider-context", "eu") {
		if want := map[string]doctor.Level{"address": doctor.Warning, "nodes": doctor.Warning}[check]; level != doctor.OK && level != want {
			t.Errorf("%s is %s", check, level)
		}
	}
	if got := levels("--provider-context", "home")["identity"]; got != doctor.Error {
		t.Errorf("the consumer as its own provider is %q", got)
	}
	if got := levels("--as", "nobody", "--as-group", "system:authenticated")["rights"]; got != doctor.Error {
		t.Errorf("without rights it is %q", got)
	}
	fails(t, "are for --pre", "doctor", "--provider-context", "eu")
}

// passes runs the test without any fault. On kwok's nodes no container runs, so no name is looked up in one.
func passes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.xml")
	out, err := spillway(t, "test", "--junit", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"doctor", "namespace", "admission", "pod", "status", "log", "exec", "port-forward", "configmap", "service", "networkpolicy", "deletion"} {
		if !strings.Contains(out, "✓ eu: "+step+" (") {
			t.Errorf("the step %s does not pass", step)
		}
	}
	for _, step := range []string{"dns: the node in the provider is kwok's", "claim: spec.classes of the binding maps no StorageClass"} {
		if !strings.Contains(out, "– eu: "+step) {
			t.Errorf("it does not skip %s", step)
		}
	}
	if content, err := os.ReadFile(file); err != nil || !strings.Contains(string(content), `failures="0"`) { //nolint:gosec // The test has made it.
		t.Errorf("the report is %s (%v)", content, err)
	}
	leavesNothing(t)
	fails(t, "there is no ClusterBinding us; existing ones: eu", "test", "us")
}

// faults have what the test must say. seed returns what undoes the fault.
var faults = []struct {
	name  string
	seed  func(*testing.T) func(*testing.T)
	args  []string
	fails bool
	want  []string
}{
	{"a rule of a role is missing", lacksRule, nil, true, []string{"✗ eu: doctor, rights eu", "create configmaps", "the consumer's account lacks a right in the provider"}},
	{"the limits are too strict", strict, nil, true, []string{"✗ eu: namespace", "the provider's limits refuse it", "ConfigMap spillway-provider/limits"}},
	{"no route to the API server", noRoute, nil, true, []string{"✗ eu: doctor, binding eu", "Unreachable: connection refused", "– eu: not run: 13 steps: the binding is not Ready"}},
	{"no route to the kubelet", noKubelet, nil, true, []string{"✗ eu: log", "no route from the provider's API server to the kubelet", "✗ eu: exec", "✗ eu: port-forward"}},
	{"the clock is off", late, nil, false, []string{"! eu: doctor, clock eu", "ahead of that of this cluster", "NTP"}},
	{"a policy is missing", noPolicy, nil, true, []string{"✗ eu: doctor, policies eu", "spillway-consumers-pods", "applies the policies and their bindings again"}},
	{"a wrong CIDR", wrongCIDR, nil, true, []string{"✗ eu: status", "is in no range of spec.network.podCIDRs of the binding: 10.99.0.0/16"}},
	{"metrics-server has stopped", noMetrics, []string{"--timeout", "24s"}, true, []string{"! eu: doctor, metrics eu", "does not answer", "✗ eu: deletion", "v1beta1.metrics.k8s.io"}},
	{"the token has expired", expired, nil, true, []string{"✗ eu: doctor, credentials eu", "they expired at", "✗ eu: doctor, binding eu", "kubectl spillway rotate eu"}},
	{"old definitions", oldDefinitions, nil, true, []string{"✗ eu: doctor, definitions", "they lack ClusterBinding.spec.events", "kubectl spillway install"}},
}

func lacksRule(t *testing.T) func(*testing.T) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: config.ProviderAccount}}
	undo := changes(t, inProvider, role, func() {
		for i := range role.Rules {
			role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == "configmaps" })
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 })
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "patch", "delete"}})
	})
	eventually(t, "doctor names the right", func() bool { return examined(t)["rights"] == doctor.Error })
	return func(t *testing.T) {
		undo(t)
		eventually(t, "it has the right again", func() bool { return examined(t)["rights"] == doctor.OK })
	}
}

func strict(t *testing.T) func(*testing.T) {
	limits := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.Limits}}
	return changes(t, inProvider, limits, func() { limits.Data["namePattern"] = "never-.*" })
}

func noRoute(t *testing.T) func(*testing.T) {
	undo := credentials(t, func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { cluster.Server = "https://127.0.0.1:1" })
	becomes(t, v1alpha1.ReasonUnreachable)
	return undo
}

// noKubelet leads the provider's API server to a port at which nobody listens.
func noKubelet(t *testing.T) func(*testing.T) {
	n := get(t, inProvider, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	set := func(t *testing.T, port int32) {
		t.Helper()
		before := get(t, inProvider, n).DeepCopy()
		n.Status.DaemonEndpoints.KubeletEndpoint.Port = port
		if err := inProvider.Status().Patch(t.Context(), n, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	was := n.Status.DaemonEndpoints.KubeletEndpoint.Port
	set(t, 1)
	return func(t *testing.T) { set(t, was) }
}

// late leads the manager and doctor to the provider through a server whose clock is five minutes ahead.
func late(t *testing.T) func(*testing.T) {
	plain := eu.Config()
	plain.CertData, plain.KeyData, plain.CertFile, plain.KeyFile = nil, nil, "", ""
	transport, err := rest.TransportFor(plain)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(plain.Host)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: transport, FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().UTC().Add(5*time.Minute).Format(http.TimeFormat))
			return nil
		},
	})
	server.EnableHTTP2 = true
	server.StartTLS()
	undo := credentials(t, func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.Server, cluster.CertificateAuthorityData = server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	})
	boundAgain(t)
	return func(t *testing.T) {
		undo(t)
		boundAgain(t)
		server.CloseClientConnections()
		server.Close()
	}
}

func noPolicy(t *testing.T) func(*testing.T) {
	list := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := inProvider.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	gone := slices.DeleteFunc(list.Items, func(b admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName != "spillway-consumers-pods"
	})
	for i := range gone {
		if err := inProvider.Delete(t.Context(), &gone[i]); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the policy has no effect", func() bool { return examined(t)["policies"] == doctor.Error })
	return func(t *testing.T) {
		for i := range gone {
			gone[i].ResourceVersion, gone[i].UID = "", ""
			if err := inProvider.Create(t.Context(), &gone[i]); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the policy has an effect", func() bool { return examined(t)["policies"] == doctor.OK })
	}
}

func wrongCIDR(t *testing.T) func(*testing.T) {
	network(t, "10.99.0.0/16")
	return func(t *testing.T) { network(t, "10.0.0.0/24") }
}

func noMetrics(t *testing.T) func(*testing.T) {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "kube-system", "name": "metrics-server"},
		},
	}}
	if err := inProvider.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	eventually(t, "doctor says so", func() bool { return examined(t)["metrics"] == doctor.Warning })
	return func(t *testing.T) {
		if err := inProvider.Delete(t.Context(), service); err != nil {
			t.Fatal(err)
		}
	}
}

// expired replaces the token by one of the same account that the provider has signed and that has expired.
func expired(t *testing.T) func(*testing.T) {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(eu.Logs), "pki", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	undo := credentials(t, func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		parts := strings.Split(user.Token, ".")
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		claims := map[string]any{}
		if err == nil {
			err = json.Unmarshal(payload, &claims)
		}
		if err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(-time.Hour).Unix()
		claims["iat"], claims["nbf"], claims["exp"] = past-3600, past-3600, past
		if payload, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
		signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
		digest := sha256.Sum256([]byte(signed))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		user.Token = signed + "." + base64.RawURLEncoding.EncodeToString(signature)
	})
	becomes(t, v1alpha1.ReasonUnauthorized)
	return undo
}

func oldDefinitions(t *testing.T) func(*testing.T) {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("clusterbindings.offloading.spillway.io")
	return changes(t, inConsumer, crd, func() {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "events")
		if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
	})
}

// quota exhausts the namespace in the provider before the pod is created.
func quota(t *testing.T) {
	out, err := whenSaid(t, "✓ eu: namespace", func() {
		list := &corev1.NamespaceList{}
		if err := inProvider.List(t.Context(), list, client.HasLabels{v1alpha1.LabelManagedBy}); err != nil || len(list.Items) != 1 {
			t.Errorf("there are %d remote namespaces (%v)", len(list.Items), err)
			return
		}
		few := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: list.Items[0].Name, Name: "few"}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
		}}
		if err := inProvider.Create(t.Context(), few); err != nil {
			t.Error(err)
		}
		eventually(t, "the quota is known", func() bool { return len(get(t, inProvider, few).Status.Hard) == 1 })
	}, "test", "eu", "--timeout", "40s")
	if err == nil || !strings.Contains(out, "✗ eu: pod") || !strings.Contains(out, "cause: a ResourceQuota in the provider is exhausted") {
		t.Errorf("it does not name the quota: %v", err)
	}
	leavesNothing(t)
}

// interrupted ends the test as Ctrl-C does, while the pod runs.
func interrupted(t *testing.T) {
	givesUp(t, "✓ eu: pod", "1 of 1 providers failed", "test", "eu")
	leavesNothing(t)
}

// changes changes an object, and returns what restores it.
func changes(t *testing.T, c client.Client, object client.Object, change func()) func(*testing.T) {
	t.Helper()
	before := get(t, c, object).DeepCopyObject().(client.Object)
	change()
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) {
		t.Helper()
		before.SetResourceVersion(get(t, c, object).GetResourceVersion())
		if err := c.Update(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
}

// credentials changes the kubeconfig of the binding.
func credentials(t *testing.T, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) func(*testing.T) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}}
	return changes(t, inConsumer, secret, func() {
		loaded, err := clientcmd.Load(secret.Data["kubeconfig"])
		if err != nil {
			t.Fatal(err)
		}
		current := loaded.Contexts[loaded.CurrentContext]
		change(loaded.Clusters[current.Cluster], loaded.AuthInfos[current.AuthInfo])
		if secret.Data["kubeconfig"], err = clientcmd.Write(*loaded); err != nil {
			t.Fatal(err)
		}
	})
}

// becomes waits until the binding is not Ready, for that reason.
func becomes(t *testing.T, reason string) {
	t.Helper()
	eventually(t, "the binding says "+reason, func() bool {
		_, waits := bind.Progress(get(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}))
		return strings.Contains(waits, reason)
	})
}

func boundAgain(t *testing.T) {
	t.Helper()
	eventually(t, "the binding is Ready", func() bool {
		ready, _ := bind.Progress(get(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}))
		return ready
	})
}

func leavesNothing(t *testing.T) {
	t.Helper()
	for name, c := range map[string]client.Client{"consumer": inConsumer, "provider": inProvider} {
		eventually(t, "nothing of the test is left in the "+name, func() bool {
			list := &corev1.NamespaceList{}
			err := c.List(t.Context(), list)
			return err == nil && !slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool { return strings.HasPrefix(n.Name, "spillway-test-") })
		})
	}
}

// network routes the networks, with that range of the provider's pods.
func network(t *testing.T, cidr v1alpha1.PodCIDR) {
	t.Helper()
	binding := get(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}})
	before := binding.DeepCopy()
	binding.Spec.Network = v1alpha1.ProviderNetwork{Mode: v1alpha1.NetworkRouted, PodCIDRs: []v1alpha1.PodCIDR{cidr}}
	if err := inConsumer.Patch(t.Context(), binding, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	boundAgain(t)
}

// node adds a node to the provider that kwok plays.
func node(t *testing.T) {
	t.Helper()
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110")}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n1", Labels: map[string]string{"type": "kwok", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
	}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	if err := inProvider.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inProvider.Delete(context.Background(), n) }) // The cluster ends as well.
}
