package plugin

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/test/manifests"
)

// TestStory takes a provider through its whole life: at the start and at the end, nothing is installed.
func TestStory(t *testing.T) {
	fails(t, "run kubectl spillway install", "bind", "eu", "--provider-context", "eu")
	installs(t)
	startManager(t)
	refuses(t)
	binds(t)
	offloads(t)
	shows(t)
	dumps(t)
	rotates(t)
	mends(t)
	takesBack(t)
	uninstalls(t)
}

func installs(t *testing.T) {
	fails(t, "which image?", "install")
	if dry := does(t, "install", "--dry-run", "--image", "none:1"); len(dry["created"]) == 0 || len(dry) != 1 {
		t.Errorf("the dry run has %v", dry)
	}
	absent(t, inConsumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: config.Namespace}})
	first := does(t, "install", "--wait=false", "--image", "none:1", "--cluster-id", "home")
	if again := does(t, "install", "--wait=false"); len(again["unchanged"]) != len(first["created"]) || len(again) != 1 {
		t.Errorf("the second time it did %v", again)
	}
	givesUp(t, "waiting: ", "the manager is not available", "install")
	available(t)
	does(t, "install")
}

// refuses runs commands that must fail before they write anything.
func refuses(t *testing.T) {
	fails(t, "existing ones: eu, home", "bind", "eu", "--provider-context", "nowhere")
	fails(t, "existing ones: eu, home", "bind", "eu", "--provider-context", "eu", "--context", "nowhere")
	fails(t, "which provider?", "bind", "eu")
	fails(t, "is the consumer itself", "bind", "eu", "--provider-context", "home")
	fails(t, "create secrets in namespace spillway-system", "bind", "eu", "--provider-context", "eu", "--as", "nobody", "--as-group", "system:masters-not")
	// Values that the consumer or the manager would not accept, one for each flag.
	for want, args := range map[string][]string{
		"RFC 1123 subdomain": {"East_1"}, "must be a DNS label": {"eu", "--cluster-id", "e.u"}, "spec.virtualNode.capacity": {"eu", "--capacity", "cpu=abc"},
		"spec.virtualNode.labels": {"eu", "--label", "a=b c"}, "plain http is not allowed": {"eu", "--provider-server", "http://eu"}, "at least 10m": {"eu", "--duration", "5m"},
	} {
		fails(t, want, append([]string{"bind", "--provider-context", "eu"}, args...)...)
	}
	dry := does(t, "bind", "eu", "--provider-context", "eu", "--dry-run")
	if len(dry["created"]) == 0 || len(dry) != 1 {
		t.Errorf("the dry run has %v", dry)
	}
	absent(t, inProvider, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: config.ProviderNamespace}})
	givesUp(t, "connection refused", "connection refused", lost("--profile", "trusted")...)
	absent(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "lost"}})
	absent(t, inConsumer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "lost-kubeconfig"}})
	absent(t, inProvider, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}})
	// The limits stay, and the next bind keeps them.
	limits := get(t, inProvider, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.Limits}})
	if profile := field.LimitsOf(limits.Data).Profile; profile != "confined" {
		t.Errorf("the limits that stay are %s", profile)
	}
}

// lost returns the arguments of a bind that fails, and removes what it has created.
func lost(args ...string) []string {
	return append([]string{"bind", "lost", "--provider-context", "eu", "--provider-server", "https://127.0.0.1:1", "--undo-on-failure"}, args...)
}

func binds(t *testing.T) {
	first := does(t, "bind", "eu", "--provider-context", "eu", "--label", "topology.kubernetes.io/region=eu")
	if !slices.Contains(first["ready"], "clusterbinding.offloading.spillway.io/eu") {
		t.Errorf("it did %v", first)
	}
	secret := get(t, inConsumer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}})
	limits := get(t, inProvider, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.Limits}})
	limits.Data["tolerationKeys"] = "example.com/batch"
	if err := inProvider.Update(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
	again := does(t, "bind", "eu", "--provider-context", "eu")
	if len(again["created"])+len(again["configured"]) > 0 || !slices.Equal(again["kept"], []string{"configmap/limits"}) {
		t.Errorf("the second time it did %v", again)
	}
	after := get(t, inConsumer, &corev1.Secret{ObjectMeta: secret.ObjectMeta})
	if after.ResourceVersion != secret.ResourceVersion {
		t.Error("the Secret was written again")
	}
	// The failed bind leaves what it has not created.
	givesUp(t, "connection refused", "connection refused", lost()...)
	get(t, inProvider, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}})
	changed := does(t, "bind", "eu", "--provider-context", "eu", "--capacity", "cpu=50%")
	if !slices.Equal(changed["configured"], []string{"clusterbinding.offloading.spillway.io/eu"}) {
		t.Errorf("with a capacity it did %v", changed)
	}
}

func offloads(t *testing.T) {
	fails(t, "kubectl create namespace team-a", "offload", "team-a")
	fails(t, "is never offloaded", "offload", "kube-system")
	if err := inConsumer.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}); err != nil {
		t.Fatal(err)
	}
	fails(t, "NoClusterSelected", "offload", "team-a", "--clusters", "us")
	fails(t, "supported values", "offload", "team-a", "--strategy", "Anywhere")
	var both cli.Summary
	decode(t, &both, "offload", "team-a", "--clusters", "eu,us", "--strategy", "Remote", "-o", "json")
	if want := []string{"no ClusterBinding has the clusterID us: the namespace is offloaded there once one has it"}; !slices.Equal(both.Warnings, want) {
		t.Errorf("it warns of %q", both.Warnings)
	}
	if one := does(t, "offload", "team-a", "--clusters", "eu"); len(one["configured"]) != 1 {
		t.Errorf("without us it did %v", one)
	}
	if again := does(t, "offload", "team-a"); len(again["unchanged"]) != 1 {
		t.Errorf("the second time it did %v", again)
	}
	get(t, inProvider, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a-home"}})
	fails(t, "the providers eu are bound", "install", "--cluster-id", "other")
	fails(t, "the namespaces team-a are offloaded, and the providers eu are bound", "uninstall")
}

// shows creates a pod that waits. status, explain and doctor must name it and the reason.
func shows(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "lost"}, Spec: corev1.PodSpec{
		NodeName: "spillway-eu", Tolerations: []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Name: "c", Image: "none", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nowhere"}}}}}},
	}}
	if err := inConsumer.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	alias := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "alias"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}}
	if err := inConsumer.Create(t.Context(), alias); err != nil {
		t.Fatal(err)
	}
	eventually(t, "status names what the pod waits for, and what is not sent", func() bool {
		var tree status.Status
		decode(t, &tree, "status", "-o", "json")
		return len(tree.Objects) == 1 && tree.Objects[0].Reason == "ExternalName" && len(tree.Bindings) == 1 && len(tree.Bindings[0].Namespaces) == 1 && len(tree.Bindings[0].Namespaces[0].Pods) == 1 &&
			tree.Bindings[0].Namespaces[0].Pods[0].Waits[0].Reason == v1alpha1.ReasonReferenceNotFound
	})
	var explanation explain.Explanation
	decode(t, &explanation, "explain", "lost", "-n", "team-a", "-o", "json")
	if explanation.Provider != "eu" || explanation.Remote != "" || explanation.Waits[0].Reason != v1alpha1.ReasonReferenceNotFound {
		t.Errorf("it explains %+v", explanation)
	}
	fails(t, "not found", "explain", "nobody", "-n", "team-a")
	for _, command := range []string{"status", "doctor", "explain pod"} {
		fails(t, "there is no namespace none", append(strings.Fields(command), "-n", "none")...)
	}
	showsTeams(t)
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "agent"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec = corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Containers: []corev1.Container{{Name: "c", Image: "none"}}}
	if err := inConsumer.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	// It did not pass the scheduler, so nothing prepared it.
	stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "stray"}, Spec: corev1.PodSpec{
		NodeName: "own", Containers: []corev1.Container{{Name: "c", Image: "none"}},
	}}
	if err := inConsumer.Create(t.Context(), stray); err != nil {
		t.Fatal(err)
	}
	// The provider has no node, and nothing writes a log.
	want := map[string]doctor.Level{
		"version": doctor.OK, "installed": doctor.OK, "definitions": doctor.OK, "manager": doctor.OK, "rights": doctor.OK, "offloading": doctor.OK, "binding": doctor.Warning,
		"credentials": doctor.OK, "reach": doctor.OK, "clock": doctor.OK, "policies": doctor.OK, "metrics": doctor.OK, "admission": doctor.OK, "strays": doctor.Warning, "stranded": doctor.OK,
		"refused": doctor.OK, "daemonsets": doctor.Warning,
	}
	if diff := cmp.Diff(want, examined(t)); diff != "" {
		t.Errorf("doctor finds: -want +got:\n%s", diff)
	}
	for _, object := range []client.Object{set, stray} {
		if err := client.IgnoreNotFound(inConsumer.Delete(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
	role := get(t, inProvider, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "spillway-consumer-logs"}})
	if err := inProvider.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, "doctor names the right that is missing", func() bool { return examined(t)["rights"] == doctor.Error })
	again := does(t, "bind", "eu", "--provider-context", "eu")
	if !slices.Equal(again["skipped"], []string{"clusterrolebinding.rbac.authorization.k8s.io/spillway-consumer-logs"}) || len(again["created"]) > 0 {
		t.Errorf("with a right that was taken away it did %v", again)
	}
	absent(t, inProvider, role.DeepCopy())
	role.ResourceVersion, role.UID = "", ""
	if err := inProvider.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has the right again", func() bool { return examined(t)["rights"] == doctor.OK })
}

// showsTeams uses a user who may edit the namespace. The commands must tell this user only true facts about
// the namespace, and nothing that only others may read.
func showsTeams(t *testing.T) {
	edit := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "dev"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "dev"}},
	}
	if err := inConsumer.Create(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	var tree status.Status
	eventually(t, "the role is there", func() bool {
		decode(t, &tree, "status", "-n", "team-a", "--as", "dev", "-o", "json")
		return !slices.Contains(tree.Hidden, status.Pods) && !slices.Contains(tree.Hidden, status.Offloadings)
	})
	if want := []string{status.Bindings, status.Nodes, status.ManagerParts}; tree.Manager != nil || !slices.Equal(tree.Hidden, want) {
		t.Errorf("the manager is %+v, and hidden are %q", tree.Manager, tree.Hidden)
	}
	if len(tree.Bindings) != 1 || tree.Bindings[0].Name != "" || tree.Bindings[0].ClusterID != "eu" || len(tree.Bindings[0].Namespaces[0].Pods) != 1 {
		t.Errorf("the providers are %+v", tree.Bindings)
	}
	var all status.Status
	decode(t, &all, "status", "--as", "dev", "-o", "json")
	if len(all.Hidden) != 6 || len(all.Bindings) != 0 {
		t.Errorf("of all namespaces it shows %+v", all)
	}
	var explanation explain.Explanation
	decode(t, &explanation, "explain", "lost", "-n", "team-a", "--as", "dev", "-o", "json")
	if explanation.Provider != "eu" || explanation.Waits[0].Reason != v1alpha1.ReasonReferenceNotFound {
		t.Errorf("it explains %+v", explanation)
	}
}

// examined returns the worst level of each check of doctor.
func examined(t *testing.T) map[string]doctor.Level {
	t.Helper()
	out, _ := spillway(t, "doctor", "-o", "json")
	return worstOf(t, out)
}

func worstOf(t *testing.T, out string) map[string]doctor.Level {
	t.Helper()
	var findings []doctor.Finding
	if err := json.Unmarshal([]byte(out), &findings); err != nil {
		t.Fatal(err)
	}
	by := map[string][]doctor.Finding{}
	for _, f := range findings {
		by[f.Check] = append(by[f.Check], f)
	}
	worst := map[string]doctor.Level{}
	for check, all := range by {
		worst[check] = doctor.Worst(all)
	}
	return worst
}

func rotates(t *testing.T) {
	fails(t, "is for a cluster other than", "rotate", "eu", "--provider-context", "home")
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}}
	before := get(t, inConsumer, key.DeepCopy())
	does(t, "rotate", "eu", "--provider-context", "eu", "--duration", "240h")
	after := get(t, inConsumer, key)
	if string(before.Data["kubeconfig"]) == string(after.Data["kubeconfig"]) {
		t.Error("the token is the same")
	}
	second(t)
}

// mends deletes an account in the provider. The command that doctor recommends must repair this.
func mends(t *testing.T) {
	gone := get(t, inProvider, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}})
	if err := inProvider.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	eventually(t, "doctor finds that the credentials are not accepted", func() bool {
		out, _ := spillway(t, "doctor", "-o", "json")
		return strings.Contains(out, v1alpha1.ReasonUnauthorized) && strings.Contains(out, "kubectl spillway bind eu --provider-context CONTEXT")
	})
	fails(t, "to recreate the account: kubectl spillway bind eu", "rotate", "eu", "--provider-context", "eu")
	did := does(t, append([]string{"bind", "eu"}, throughInventory(t)...)...)
	if !slices.Contains(did["created"], "serviceaccount/"+config.ProviderAccount) || !slices.Contains(did["configured"], "secret/eu-kubeconfig") {
		t.Errorf("it did %v", did)
	}
	secret := get(t, inConsumer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}})
	stored, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range stored.AuthInfos {
		if len(user.ClientKeyData) > 0 || user.Exec != nil {
			t.Error("the consumer has the credentials of the plugin, not only a token of its account")
		}
	}
}

// throughInventory publishes the provider as a ClusterProfile in the consumer until the test ends, and returns the flags of
// bind that use it. A credential plugin on this machine has the administrator's credentials.
func throughInventory(t *testing.T) []string {
	t.Helper()
	crds, err := manifests.ClusterProfiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	admin := eu.Config()
	if err := rest.LoadTLSFiles(admin); err != nil {
		t.Fatal(err)
	}
	profile := &inventory.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "eu"}, Spec: inventory.ClusterProfileSpec{ClusterManager: inventory.ClusterManager{Name: "corp"}}}
	if err := inConsumer.Create(t.Context(), crds[0]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inConsumer.Delete(context.WithoutCancel(t.Context()), crds[0]) })
	eventually(t, "the kind is served", func() bool { return inConsumer.Create(t.Context(), profile) == nil })
	profile.Status.AccessProviders = []inventory.AccessProvider{{Name: "corp", Cluster: clientcmdapiv1.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}}}
	if err := inConsumer.Status().Update(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	credentials := map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": map[string]string{
		"clientCertificateData": string(admin.CertData), "clientKeyData": string(admin.KeyData)}}
	says := writeJSON(t, credentials)
	plugins := map[string]any{"providers": []any{map[string]any{"name": "corp", "execConfig": map[string]any{
		"apiVersion": credentials["apiVersion"], "command": "cat", "args": []string{says}}}}}
	return []string{"--cluster-profile", "default/eu", "--clusterprofile-provider-file", writeJSON(t, plugins)}
}

// writeJSON returns the name of a file with that content.
func writeJSON(t *testing.T, content any) string {
	t.Helper()
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "content.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// second is a binding with its own account, which an administrator has created. It keeps that account and its
// Secret.
func second(t *testing.T) {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: "second"}}
	if err := inProvider.Create(t.Context(), sa); err != nil {
		t.Fatal(err)
	}
	document, err := eu.KubeconfigFor(t.Context(), config.ProviderNamespace, "second", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "second"}, Data: map[string][]byte{"kubeconfig": document}}
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: v1alpha1.ClusterBindingSpec{
		ClusterID: "second", KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: "second", Key: "kubeconfig"},
	}}
	for _, object := range []client.Object{secret, binding} {
		if err := inConsumer.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	fails(t, "was not created by kubectl spillway", "bind", "second", "--provider-context", "eu", "--provider-server", "https://127.0.0.1:1")
	givesUp(t, "lack a right", "is not Ready", "rotate", "second", "--provider-context", "eu", "--duration", "1h") // It has no roles.
	after := get(t, inConsumer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "second"}})
	loaded, err := clientcmd.RESTConfigFromKubeConfig(after.Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	if of, _, err := account.Of(loaded.BearerToken); of != "second" || string(after.Data["kubeconfig"]) == string(document) {
		t.Errorf("the new token is of %q (%v)", of, err)
	}
	fails(t, "also uses", "unbind", "second", "--provider-context", "eu")
	does(t, "unbind", "second")
	get(t, inConsumer, after)
}

func decode(t *testing.T, to any, args ...string) {
	t.Helper()
	out, err := spillway(t, args...)
	if err == nil {
		err = json.Unmarshal([]byte(out), to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// strands ends the offloading of a namespace. A pod on a virtual node that has no controller is gone for
// good. Two pods wait for such a node: a ReplicaSet creates one of them again, and the command names the
// other one.
func strands(t *testing.T) {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}}
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "bare"}, Spec: spec}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set.Spec.Selector.MatchLabels}, Spec: spec}
	for _, object := range []client.Object{bare, set} {
		if err := inConsumer.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	pods := &corev1.PodList{}
	eventually(t, "the ReplicaSet has its pod", func() bool {
		err := inConsumer.List(t.Context(), pods, client.InNamespace("team-a"), client.MatchingLabels(set.Spec.Selector.MatchLabels))
		return err == nil && len(pods.Items) == 1
	})
	for _, args := range [][]string{{"unoffload", "team-a", "--dry-run"}, {"unoffload", "team-a"}} {
		var done cli.Summary
		decode(t, &done, append(args, "-o", "json")...)
		evicted := cli.Step{Cluster: "consumer", Object: "pod/" + pods.Items[0].Name, Namespace: "team-a", Action: "evicted"}
		for _, lost := range []cli.Step{
			{Cluster: "consumer", Object: "pod/lost", Namespace: "team-a", Action: "evicted", Message: "it has no controller, and is lost"},
			{Cluster: "provider", Object: "namespace/team-a-home", Action: "deleted", Message: "with everything in it, in eu"},
		} {
			if !slices.Contains(done.Steps, lost) {
				t.Errorf("%v: %v does not name %s", args, done.Steps, lost.Object)
			}
		}
		if !slices.Contains(done.Steps, evicted) || len(done.Warnings) != 1 || !strings.Contains(done.Warnings[0], "stay Pending: 1 pod (team-a/bare)") {
			t.Errorf("%v: got %v, and warnings %q", args, done.Steps, done.Warnings)
		}
	}
	if level := examined(t)["stranded"]; level != doctor.Warning {
		t.Errorf("doctor finds %v", level)
	}
	for _, object := range []client.Object{set, bare} {
		if err := inConsumer.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func takesBack(t *testing.T) {
	strands(t)
	absent(t, inProvider, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a-home"}})
	does(t, "unoffload", "team-a")
	fails(t, "ClusterBinding eu is for a cluster other than", "unbind", "eu", "--provider-context", "home")
	secret := get(t, inConsumer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}})
	goesOn(t)
	if again := does(t, "unbind", "eu", "--provider-context", "eu"); len(again) != 0 {
		t.Errorf("the second time it did %v", again)
	}
	keeps(t, secret)
	absent(t, inConsumer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-kubeconfig"}})
	absent(t, inProvider, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}})
	get(t, inProvider, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: config.Limits}})
}

// keeps leaves only a Secret that bind has not created. The same command must say so.
func keeps(t *testing.T, secret *corev1.Secret) {
	secret.Labels, secret.ResourceVersion, secret.UID = nil, "", ""
	if err := inConsumer.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	var again cli.Summary
	decode(t, &again, "unbind", "eu", "--provider-context", "eu", "-o", "json")
	if len(again.Steps) != 1 || !strings.Contains(again.Steps[0].Message, "no longer valid: kubectl delete secret eu-kubeconfig") || len(again.Warnings) > 0 {
		t.Errorf("with a Secret that is kept it did %v, and warns of %q", again.Steps, again.Warnings)
	}
	if err := inConsumer.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// goesOn keeps a binding until the command has given up, and then lets it go. The same command must remove
// the rest.
func goesOn(t *testing.T) {
	binding := get(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}})
	hold := func(add bool) {
		before := get(t, inConsumer, binding).DeepCopy()
		if binding.Finalizers = slices.DeleteFunc(binding.Finalizers, func(f string) bool { return f == "example.com/hold" }); add {
			binding.Finalizers = append(binding.Finalizers, "example.com/hold")
		}
		if err := inConsumer.Patch(t.Context(), binding, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	hold(true)
	givesUp(t, "waiting: ", "run this command again to wait", "unbind", "eu", "--provider-context", "eu")
	eventually(t, "the manager has done its part", func() bool { return len(get(t, inConsumer, binding).Finalizers) == 1 })
	hold(false)
	fails(t, "whose token is in Secret eu-kubeconfig", "unbind", "eu", "--provider-context", "home")
	did := does(t, "unbind", "eu", "--provider-context", "eu")
	if !slices.Contains(did["deleted"], "serviceaccount/"+config.ProviderAccount) || !slices.Contains(did["deleted"], "secret/eu-kubeconfig") {
		t.Errorf("it went on with %v", did)
	}
}

// uninstalls binds a provider and offloads a namespace once more. After uninstall, nothing may be left.
func uninstalls(t *testing.T) {
	does(t, "bind", "eu", "--provider-context", "eu")
	does(t, "offload", "team-a")
	binding := get(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}})
	mark(t, binding, hosted.LabelHostedCluster, "uid")
	fails(t, "remove spec.binding of HostedCluster eu first", "unbind", "eu")
	fails(t, "remove spec.binding of HostedCluster eu first", "uninstall", "--all")
	mark(t, binding, hosted.LabelHostedCluster, "")
	fails(t, "delete clusterroles.rbac.authorization.k8s.io", "uninstall", "--all", "--as", "system:serviceaccount:spillway-system:spillway-manager")
	does(t, "uninstall", "--all")
	// The user can also remove the access to a provider later, if it is certain that no other consumer uses
	// it.
	fails(t, "may belong to another consumer; --yes", "unbind", "eu", "--provider-context", "eu")
	if later := does(t, "unbind", "eu", "--provider-context", "eu", "--yes"); !slices.Contains(later["deleted"], "serviceaccount/"+config.ProviderAccount) {
		t.Errorf("unbind did %v", later)
	}
	if again := does(t, "uninstall"); len(again) != 0 {
		t.Errorf("the second time it did %v", again)
	}
	// If somebody sets a label after that, uninstall removes it, though the kinds are gone.
	mark(t, get(t, inConsumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}), v1alpha1.LabelOffload, "true")
	if again := does(t, "uninstall", "--all"); !slices.Equal(again["configured"], []string{"namespace/team-a"}) {
		t.Errorf("with a label it did %v", again)
	}
	// uninstall deletes an imported class that no manager has deleted.
	left := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{
		Name: "left", Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}, Annotations: map[string]string{v1alpha1.AnnotationImportedFrom: "eu/x"},
	}}
	if err := inConsumer.Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if again := does(t, "uninstall"); !slices.Equal(again["deleted"], []string{"priorityclass.scheduling.k8s.io/left"}) {
		t.Errorf("with an imported class it did %v", again)
	}
	shipped, err := config.Objects("default")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range shipped {
		if served, err := inConsumer.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind()); err == nil && served != nil {
			absent(t, inConsumer, object)
		}
	}
	absent(t, inProvider, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a-home"}})
}

// mark sets a label, or removes it if value is "".
func mark(t *testing.T, object client.Object, key, value string) {
	t.Helper()
	before := object.DeepCopyObject().(client.Object)
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	if labels[key] = value; value == "" {
		delete(labels, key)
	}
	object.SetLabels(labels)
	if err := inConsumer.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func get[T client.Object](t *testing.T, c client.Client, object T) T {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func absent(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		t.Errorf("%T %s is there (%v)", object, object.GetName(), err)
	}
}
