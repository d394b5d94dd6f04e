package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// patience is long enough for slow machines. This demo reads the clusters every minute instead of every five.
const patience = 4 * time.Minute

func (d *demo) story(ctx context.Context) error {
	for _, chapter := range []func(context.Context) error{
		d.imported, d.opened, d.bound, d.adopted, d.inConflict, d.resolved, d.pushed, d.refused, d.last,
	} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// file is the file that a user has of a HostedCluster.
func (d *demo) file(name string) string { return filepath.Join(d.dir, name+".yaml") }

// edit changes such a file.
func (d *demo) edit(name, from, to string) error {
	text, err := os.ReadFile(d.file(name))
	if err != nil {
		return err
	}
	return os.WriteFile(d.file(name), []byte(strings.Replace(string(text), from, to, 1)), 0o600)
}

func title(format string, args ...any) { fmt.Printf("\n# %s\n", fmt.Sprintf(format, args...)) }

// imported shows that an import changes nothing.
func (d *demo) imported(ctx context.Context) error {
	text, err := manifests.ReadFile("manifests/clusters.yaml")
	if err != nil {
		return err
	}
	for _, one := range strings.Split(string(text), "---\n") {
		_, name, _ := strings.Cut(one, "  name: ")
		name, _, _ = strings.Cut(name, "\n")
		if err := os.WriteFile(d.file(name), []byte(one), 0o600); err != nil {
			return err
		}
		if _, err := d.kubectl(ctx, "apply", "-f", d.file(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"eks-shop", "aks-shop", "gke-shop"} {
		if err := d.until(ctx, name, "it is imported, and in sync", inSync); err != nil {
			return err
		}
	}
	title("Three clusters that exist are imported. Nothing has been sent to the clouds: %d requests have changed something", d.changes())
	if err := d.show(ctx, "get", "hostedclusters"); err != nil {
		return err
	}
	title("Only what the spec sets is managed, and compared")
	return d.show(ctx, "get", "hostedcluster", "eks-shop", "-o", `jsonpath={range .status.managed[*]}{.path}{"\t"}{.state}{"\n"}{end}`)
}

// opened changes a field in the console that the spec also sets.
func (d *demo) opened(ctx context.Context) error {
	title("In the console of EKS, somebody opens the endpoint to 192.0.2.0/24, which the spec does not say")
	return d.consoleOfEKS(ctx, "192.0.2.0/24")
}

// adopted shows that a change made only in the console stays.
func (d *demo) adopted(ctx context.Context) error {
	title("The cluster was read, and so was what the console has changed. Otherwise it is read every minute here, and every five by default")
	if err := d.until(ctx, "eks-shop", "the change is seen", func(h *v1alpha1.HostedCluster) bool {
		return state(h, "publicAccessSources") == "Superseded"
	}); err != nil {
		return err
	}
	title("It is adopted, not rolled back: status.effective has it, and status.decisions what was given up. The spec stays, as it was written")
	for _, path := range []string{"{.spec.eksConfig.publicAccessSources}", "{.status.effective.eksConfig.publicAccessSources}", "{.status.decisions}"} {
		if err := d.show(ctx, "get", "hostedcluster", "eks-shop", "-o", "jsonpath="+path); err != nil {
			return err
		}
	}
	title("IN SYNC is False until whoever keeps the spec follows. A plan shows the values of both sides; --drifted writes the cloud's ones to the file")
	file := d.relative(d.file("eks-shop"))
	for _, args := range [][]string{
		{"spillway", "hosted", "plan", "eks-shop"}, {"spillway", "hosted", "adopt", "eks-shop", "--drifted", "-f", file}, {"apply", "-f", file},
	} {
		if err := d.show(ctx, args...); err != nil {
			return err
		}
	}
	return d.until(ctx, "eks-shop", "both sides agree", inSync)
}

// inConflict changes the same tag on both sides.
func (d *demo) inConflict(ctx context.Context) error {
	title("In Azure's portal, somebody sets the tag owner to billing. Before that is read, the spec sets it to team-a, and cost to 8")
	if err := d.consoleOfAKS(ctx, "owner", "billing"); err != nil {
		return err
	}
	if err := d.show(ctx, "patch", "hostedcluster", "aks-shop", "--type=merge", "-p", `{"spec":{"aksConfig":{"tags":{"owner":"team-a","cost":"8"}}}}`); err != nil {
		return err
	}
	if err := d.until(ctx, "aks-shop", "the conflict is seen, and the other tag is sent", func(h *v1alpha1.HostedCluster) bool {
		return len(h.Status.Conflicts) == 1 && state(h, `tags["cost"]`) == "Agreed"
	}); err != nil {
		return err
	}
	title("Neither is lost: this one field waits for a decision, and the other was sent")
	if err := d.show(ctx, "get", "hostedclusters"); err != nil {
		return err
	}
	if err := d.show(ctx, "get", "hostedcluster", "aks-shop", "-o", `jsonpath={range .status.conflicts[*]}{.path}: before {.base}, in the spec {.spec}, in the cloud {.upstream}; {.upstreamHash}{"\n"}{end}`); err != nil {
		return err
	}
	return d.tagsInAKS(ctx)
}

// resolved decides the conflict, and no other one.
func (d *demo) resolved(ctx context.Context) error {
	title("The spec shall hold. The decision has the hash of this conflict, so it decides no later one")
	if err := d.show(ctx, "spillway", "hosted", "resolve", "aks-shop", `tags["owner"]`, "--take", "spec"); err != nil {
		return err
	}
	if err := d.until(ctx, "aks-shop", "both sides agree", inSync); err != nil {
		return err
	}
	title("It was sent with the etag of the read that it was decided on; what it overwrote is in status.decisions")
	if err := d.show(ctx, "get", "hostedcluster", "aks-shop", "-o", "jsonpath={.status.decisions}"); err != nil {
		return err
	}
	return d.tagsInAKS(ctx)
}

// pushed shows what a candidate would send, and that Spillway then sends it.
func (d *demo) pushed(ctx context.Context) error {
	title("The spec shall ask for five nodes in GKE. A plan of the file shows what would be sent, with which right")
	file := d.relative(d.file("gke-shop"))
	if err := d.edit("gke-shop", "initialNodeCount: 2", "initialNodeCount: 5"); err != nil {
		return err
	}
	for _, args := range [][]string{{"spillway", "hosted", "plan", "gke-shop", "-f", file}, {"apply", "-f", file}} {
		if err := d.show(ctx, args...); err != nil {
			return err
		}
	}
	return d.until(ctx, "gke-shop", "there are five", func(h *v1alpha1.HostedCluster) bool {
		config := h.Status.UpstreamSpec.GKEConfig
		return inSync(h) && config != nil && len(config.NodePools) == 1 && config.NodePools[0].InitialNodeCount != nil && *config.NodePools[0].InitialNodeCount == 5
	})
}

// refused shows that a refused request holds up no other one.
func (d *demo) refused(ctx context.Context) error {
	title("The spec asks EKS for one more node group, which a quota refuses, and for another label of the group that exists")
	d.clouds.full.Store(true)
	if err := d.show(ctx, "patch", "hostedcluster", "eks-shop", "--type=merge", "-p", `{"spec":{"eksConfig":{"nodeGroups":[`+
		`{"nodegroupName":"batch","nodeRole":"node","subnets":["s1"]},{"nodegroupName":"workers","labels":{"tier":"shop"}}]}}}`); err != nil {
		return err
	}
	if err := d.until(ctx, "eks-shop", "the group is refused, and the label is sent", func(h *v1alpha1.HostedCluster) bool {
		return len(h.Status.Operations) == 1 && h.Status.Operations[0].Message != "" && state(h, `nodeGroups["workers"].labels["tier"]`) == "Agreed"
	}); err != nil {
		return err
	}
	if err := d.show(ctx, "spillway", "hosted", "plan", "eks-shop"); err != nil {
		return err
	}
	title("The quota is raised. A changed request is sent at once, and an unchanged one within an hour")
	d.clouds.full.Store(false)
	if err := d.show(ctx, "patch", "hostedcluster", "eks-shop", "--type=merge", "-p", `{"spec":{"eksConfig":{"nodeGroups":[`+
		`{"nodegroupName":"batch","nodeRole":"node","subnets":["s1"],"maxSize":3},{"nodegroupName":"workers","labels":{"tier":"shop"}}]}}}`); err != nil {
		return err
	}
	return d.until(ctx, "eks-shop", "both sides agree", inSync)
}

func (d *demo) last(ctx context.Context) error {
	title("In the end")
	if err := d.show(ctx, "get", "hostedclusters"); err != nil {
		return err
	}
	if err := d.show(ctx, "get", "events", "-A", "--sort-by=.metadata.creationTimestamp", "-o", `custom-columns=OBJECT:.involvedObject.name,REASON:.reason,MESSAGE:.message`); err != nil {
		return err
	}
	title("All requests that have changed something in the clouds. The first one in EKS, and the first in AKS, are the consoles'")
	for _, of := range []struct {
		name    string
		changes []string
	}{{"EKS", d.clouds.eks.Changes()}, {"AKS", d.clouds.aks.Changes()}, {"GKE", d.clouds.gke.Changes()}} {
		fmt.Printf("%s: %s\n", of.name, strings.Join(of.changes, ", "))
	}
	return nil
}

func (d *demo) changes() int {
	return len(d.clouds.eks.Changes()) + len(d.clouds.aks.Changes()) + len(d.clouds.gke.Changes())
}

func (d *demo) tagsInAKS(ctx context.Context) error {
	cluster, err := d.readAKS(ctx)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(cluster["tags"])
	if err != nil {
		return err
	}
	fmt.Printf("Azure has the tags %s\n", tags)
	return nil
}

func inSync(h *v1alpha1.HostedCluster) bool {
	return meta.IsStatusConditionTrue(h.Status.Conditions, v1alpha1.HostedReady) && meta.IsStatusConditionTrue(h.Status.Conditions, v1alpha1.HostedInSync) &&
		len(h.Status.Operations) == 0 && h.Status.ObservedGeneration == h.Generation
}

// state returns the state of a managed field.
func state(h *v1alpha1.HostedCluster, path string) string {
	i := slices.IndexFunc(h.Status.Managed, func(f v1alpha1.ManagedField) bool { return f.Path == path })
	if i < 0 {
		return ""
	}
	return h.Status.Managed[i].State
}

func (d *demo) get(ctx context.Context, name string) (*v1alpha1.HostedCluster, error) {
	h := &v1alpha1.HostedCluster{}
	return h, d.admin.Get(ctx, client.ObjectKey{Name: name}, h)
}

// until waits for a HostedCluster to meet a condition.
func (d *demo) until(ctx context.Context, name, what string, so func(*v1alpha1.HostedCluster) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		h, err := d.get(ctx, name)
		switch {
		case err == nil && so(h):
			d.say("%s: %s", name, what)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("gave up waiting for %s: %s; its conditions: %+v", name, what, h.Status.Conditions)
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (d *demo) howToGoOn() {
	fmt.Printf(`
It stays until Ctrl-C. To go on by hand:

  export PATH=%[4]s/bin:%[4]s/bin/kube:$PATH KUBECONFIG=%[1]s
  kubectl get hostedclusters
  kubectl spillway hosted plan eks-shop --all
  kubectl spillway ui

  # Change a tag as somebody else does, and see it adopted within a minute.
  curl --cacert %[2]s %[3]s/tags/arn:aws:eks:eu-central-1:1:cluster%%2Fshop -d '{"tags":{"owner":"me"}}'
  kubectl get hostedcluster eks-shop -o yaml

  # Refuse a change in the cloud instead.
  kubectl patch hostedcluster eks-shop --type=merge -p '{"spec":{"sync":{"external":"PreferSpec"}}}'
`, d.kubeconfig(), d.certificate(), d.clouds.eksServer.URL, d.root)
}
