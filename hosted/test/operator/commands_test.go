package operator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// kubectl runs a command of the plugin as the administrator of the API server. It returns both outputs, and the
// exit code.
func (r *rig) kubectl(args ...string) (out, errs string, code int) {
	r.Helper()
	path := filepath.Join(r.TempDir(), "kubeconfig")
	admin := clientcmdapi.NewConfig()
	admin.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	admin.AuthInfos["c"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}
	admin.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	admin.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*admin, path); err != nil {
		r.Fatal(err)
	}
	streams, _, first, second := genericiooptions.NewTestIOStreams()
	command := plugin.Command("test", streams)
	command.SetArgs(append([]string{"hosted", "--kubeconfig", path}, args...))
	err := command.ExecuteContext(r.Context())
	var exit cli.Exit
	switch {
	case errors.As(err, &exit):
		return first.String(), second.String(), int(exit)
	case err != nil:
		return first.String(), second.String() + err.Error(), 1
	}
	return first.String(), second.String(), 0
}

// operate reconciles an object again and again, until the returned function is called.
func (r *rig) operate(name string) (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// Both write the object, so the operator may have to try again.
			_, _ = r.Reconcile(ctx, ctrl.Request{NamespacedName: keyOf(name)})
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

const commands = `# Kept by the platform team.
apiVersion: hosted.spillway.io/v1alpha1
kind: HostedCluster
metadata: {name: commands}
spec:
  credentials: {secretRef: {name: commands}}
  aksConfig:
    resourceGroup: rg
    clusterName: commands
    resourceLocation: westeurope

    tags:
      owner: shop  # who pays
      cost: "7"
`

// TestCommands plans, resolves and adopts with the plugin, while the operator works.
func TestCommands(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addAKS(t, "commands")
	h := &v1alpha1.HostedCluster{}
	if err := yaml.UnmarshalStrict([]byte(commands), h); err != nil {
		t.Fatal(err)
	}
	r.cluster("commands", "aksConfig: {resourceGroup: rg, clusterName: commands, resourceLocation: westeurope}")
	if _, errs, code := r.kubectl("plan", "commands"); code != 1 || !strings.Contains(errs, "has not read the cluster yet") {
		t.Errorf("before the first read: %d, %s", code, errs)
	}
	r.settle("commands")
	r.edit("commands", func(live *v1alpha1.HostedCluster) { live.Spec = h.Spec })
	r.settle("commands")

	file := filepath.Join(t.TempDir(), "commands.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want int, contains string, args ...string) {
		t.Helper()
		out, errs, code := r.kubectl(args...)
		if code != want || !strings.Contains(out+errs, contains) {
			t.Errorf("%q: exit code %d, want %d and %q:\n%s%s", args, code, want, contains, out, errs)
		}
	}
	expect(0, "nothing would change", "plan", "commands")
	expect(1, "existing ones: commands", "plan", "nobody")
	write(strings.Replace(commands, "owner: shop", "owner: me", 1))
	expect(2, `tags["owner"]: "shop" -> "me"`, "plan", "commands", "-f", file)
	expect(2, `"Microsoft.ContainerService/managedClusters/write"`, "plan", "commands", "-f", file, "-o", "json")
	write(strings.Replace(commands, "resourceGroup: rg", `resourceGroup: ""`, 1))
	expect(1, "the API server refuses the spec", "plan", "commands", "-f", file)
	write(strings.Replace(commands, "tags:", "tag:", 1))
	expect(1, `unknown field "tag"`, "plan", "commands", "-f", file)

	// The cloud's value holds. The file follows, with its comments.
	cluster.Edit(setTag("tags", "owner", "console"))
	generation := r.settle("commands").Generation

	// The API server refuses something else in the file. It is asked before the file is written, and without writing, too.
	refused := strings.Replace(commands, "spec:\n", "spec:\n  deletionPolicy: Never\n", 1)
	for _, more := range [][]string{nil, {"--dry-run"}} {
		write(refused)
		expect(1, "the API server refuses the spec", append([]string{"adopt", "commands", "--drifted", "-f", file}, more...)...)
		if got, err := os.ReadFile(file); err != nil || string(got) != refused {
			t.Errorf("%q: the file has changed: %s, %v", more, got, err)
		}
	}
	write(commands)
	expect(0, `tags["owner"]: "shop" -> "console"`, "adopt", "commands", "--drifted", "-f", file, "--dry-run")
	if got, err := os.ReadFile(file); err != nil || string(got) != commands || r.get("commands").Generation != generation {
		t.Errorf("--dry-run has written: %s, %v, generation %d", got, err, r.get("commands").Generation)
	}
	expect(0, `tags["owner"]: "shop" -> "console"`, "adopt", "commands", "--drifted", "-f", file)
	if got, err := os.ReadFile(file); err != nil || string(got) != strings.Replace(commands, "owner: shop", "owner: console", 1) {
		t.Errorf("the file has %s, %v", got, err)
	}
	write(strings.Replace(commands, `"7"`, `"8"`, 1))
	expect(1, `would be sent: tags["cost"]`, "adopt", "commands", "--drifted", "-f", file)
	if got, err := os.ReadFile(file); err != nil || string(got) != strings.Replace(commands, `"7"`, `"8"`, 1) {
		t.Errorf("the file has changed: %s, %v", got, err)
	}

	// The spec shall hold after all. So the field is unset, and set again.
	stop := r.operate("commands")
	expect(0, `the spec's value holds. Lost is "console"`, "resolve", "commands", `tags["owner"]`, "--take", "spec")
	stop()
	if tag := r.tagInAKS("commands", "owner"); tag != "shop" {
		t.Errorf("the cloud has %s", tag)
	}

	// The spec asks for a tag to be removed, and somebody sets it again. Null survives both writes.
	r.edit("commands", func(h *v1alpha1.HostedCluster) { h.Spec.AKSConfig.Tags["gone"] = nil })
	r.settle("commands")
	cluster.Edit(setTag("tags", "gone", "1"))
	r.settle("commands")
	stop = r.operate("commands")
	expect(0, `the spec's value holds. Lost is "1"`, "resolve", "commands", `tags["gone"]`, "--take", "spec")
	stop()
	value, managed := r.get("commands").Spec.AKSConfig.Tags["gone"]
	if tag := r.tagInAKS("commands", "gone"); tag != "" || value != nil || !managed {
		t.Errorf("the cloud has %q; the spec sets it: %v", tag, managed)
	}

	// Nothing is unset while the operator does something else, or does nothing.
	cluster.Edit(setTag("tags", "owner", "console"))
	r.settle("commands")
	r.edit("commands", func(h *v1alpha1.HostedCluster) { *h.Spec.AKSConfig.Tags["cost"] = "9" })
	expect(1, "the operator has not processed the present spec yet", "resolve", "commands", `tags["owner"]`, "--take", "spec")
	r.settle("commands")
	before := r.get("commands").Spec
	expect(1, "the spec is as it was before", "resolve", "commands", `tags["owner"]`, "--take", "spec", "--timeout", "1s")
	if diff := cmp.Diff(before, r.get("commands").Spec); diff != "" {
		t.Errorf("after a timeout: -before +after:\n%s", diff)
	}
	stop = r.operate("commands")
	expect(0, `Lost is "shop"`, "resolve", "commands", `tags["owner"]`, "--take", "cloud")
	stop()

	// Both sides have changed it.
	cluster.Edit(setTag("tags", "owner", "billing"))
	r.edit("commands", func(h *v1alpha1.HostedCluster) { *h.Spec.AKSConfig.Tags["owner"] = "team-a" })
	conflict := r.settle("commands").Status.Conflicts[0]
	expect(0, "1 field waits for a decision", "plan", "commands")
	expect(1, "both sides agree", "resolve", "commands", `tags["cost"]`, "--take", "spec")
	expect(1, "its hash is "+conflict.UpstreamHash+", not old", "resolve", "commands", `tags["owner"]`, "--take", "spec", "--hash", "old")
	expect(0, "upstreamHash: "+conflict.UpstreamHash, "resolve", "commands", `tags["owner"]`, "--take", "spec", "-o", "patch")
	expect(0, "owner: billing", "resolve", "commands", `tags["owner"]`, "--take", "cloud", "-o", "patch")
	if now := r.get("commands"); len(now.Spec.Sync.Resolutions) > 0 || *now.Spec.AKSConfig.Tags["owner"] != "team-a" {
		t.Errorf("-o patch has written %+v", now.Spec)
	}
	stop = r.operate("commands")
	expect(0, `the cloud's value holds. Lost is "team-a"`, "resolve", "commands", `tags["owner"]`, "--take", "cloud", "--hash", conflict.UpstreamHash)
	stop()
	expect(0, "nothing would change", "plan", "commands")
	expect(1, `both sides agree on "billing"`, "resolve", "commands", `tags["owner"]`, "--take", "cloud")
}

// tagInAKS returns a tag of a cluster.
func (r *rig) tagInAKS(name, key string) string {
	var tag string
	r.clouds.aksS[name].Edit(func(cluster object) object {
		tag, _ = cluster["tags"].(object)[key].(string)
		return cluster
	})
	return tag
}
