package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/install"
	"github.com/spillway-io/spillway/internal/plugin/objects"
)

// admissionPolicies is the kind of the policies that both clusters need.
var admissionPolicies = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}

// before checks one cluster before anything is installed there.
type before struct {
	*run
	// cluster is the consumer or the provider; name is "consumer" or the context of the provider.
	cluster *cli.Cluster
	name    string
}

// Before checks whether install would work in the consumer and, if provider is not nil, whether bind would there. It
// returns an error only if the other checks would mean nothing.
func Before(ctx context.Context, consumer *cli.Cluster, provider *cli.Provider) ([]Finding, error) {
	r := &run{consumer: consumer}
	c := &before{r, consumer, "consumer"}
	shipped, err := c.consumerServes()
	if err != nil {
		return nil, err
	}
	c.rights(ctx, consumer.ToApply(typed(shipped)...), "ask its administrator for these, or to run kubectl spillway install")
	c.definitions(ctx, shipped)
	c.inTheWay(ctx, shipped)
	c.nodes(ctx, noNodeHere)
	if provider != nil {
		p := &before{r, provider.Cluster, "provider"}
		if err := p.provider(ctx, provider); err != nil {
			return nil, err
		}
	}
	return r.findings, nil
}

// consumerServes checks version and APIs of the consumer, and returns what install would apply.
func (b *before) consumerServes() ([]*unstructured.Unstructured, error) {
	found, err := b.cluster.Version()
	if err != nil {
		return nil, err
	}
	b.found(ofVersion(found))
	shipped, directory, err := install.Shipped(b.cluster)
	if err != nil {
		return nil, err
	}
	f := Finding{Level: OK, Check: "apis", Object: b.name, Message: "it serves MutatingAdmissionPolicy v1, which prepares pods"}
	if directory == install.WithWebhook {
		f.Level, f.Message = Warning, "it does not serve MutatingAdmissionPolicy v1 (from Kubernetes 1.36): install adds a webhook of the manager instead"
		f.Mend = "docs/operations.md, consumers before Kubernetes 1.36; the API server must reach port 9443 of the manager's pods"
	}
	b.found(f)
	return shipped, b.servesPolicies()
}

// servesPolicies checks the API of the policies that confine the manager, and in a provider the consumer.
func (b *before) servesPolicies() error {
	served, err := b.cluster.Serves(admissionPolicies)
	if err != nil {
		return err
	}
	f := Finding{Level: OK, Check: "apis", Object: b.name, Message: "it serves ValidatingAdmissionPolicy v1"}
	if !served {
		f.Level, f.Message = Error, "it does not serve ValidatingAdmissionPolicy v1, which Spillway's policies need"
		f.Mend = "update it to Kubernetes 1.30 or later; if it is newer, remove admissionregistration.k8s.io/v1=false from the API server's flag --runtime-config"
	}
	b.found(f)
	return nil
}

// rights checks the user's own rights.
func (b *before) rights(ctx context.Context, needed []cli.Right, mend string) {
	missing, err := b.cluster.Lacks(ctx, needed)
	if err != nil {
		b.found(Finding{Level: Error, Check: "rights", Object: b.name, Message: err.Error()})
		return
	}
	f := ofRights(b.name, "your user", missing, nil, mend)
	if len(missing) == 0 {
		f.Message = "you have all rights that it takes"
	}
	b.found(f)
}

// definitions compares CustomResourceDefinitions that exist with those that install applies.
func (b *before) definitions(ctx context.Context, shipped []*unstructured.Unstructured) {
	var there []*unstructured.Unstructured
	for _, object := range shipped {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		found, err := b.read(ctx, object)
		if err != nil {
			b.found(Finding{Level: Warning, Check: "definitions", Object: b.name, Message: "whether there are CustomResourceDefinitions of another version is unknown: " + err.Error(), Mend: "run doctor as a cluster administrator"})
			return
		}
		if found != nil {
			there = append(there, found)
		}
	}
	f := Finding{Level: OK, Check: "definitions", Object: b.name, Message: "there are no CustomResourceDefinitions of Spillway yet"}
	if len(there) > 0 {
		f = ofDefinitions(schemas(there), schemas(shipped))
		f.Object = b.name
		if f.Level == Error { // Before install, this is what install changes.
			f.Level = Warning
		}
	}
	b.found(f)
}

// inTheWay looks for objects of Spillway's names with fields of somebody else. A dry run of server-side apply names
// them.
func (b *before) inTheWay(ctx context.Context, shipped []*unstructured.Unstructured) {
	var exist int
	var unread, conflicts []string
	for _, object := range shipped {
		there, err := b.read(ctx, object)
		if err != nil {
			unread = append(unread, objects.Name(object))
			continue
		}
		if there == nil || account.IsLimits(object) {
			continue
		}
		exist++
		if err := account.Apply(ctx, b.cluster, object.DeepCopy(), cli.Owner, client.DryRunAll); apierrors.IsConflict(err) {
			conflicts = append(conflicts, objects.Name(object)+": "+err.Error())
		}
	}
	b.found(ofNames(b.name, exist, len(shipped), unread, conflicts))
}

// ofNames is the finding about objects that exist before the installation.
func ofNames(name string, exist, all int, unread, conflicts []string) Finding {
	f := Finding{Level: OK, Check: "names", Object: name, Message: "no object with a name of Spillway exists"}
	switch {
	case len(conflicts) > 0:
		f.Level, f.Message = Warning, "objects with names of Spillway have fields of somebody else: "+strings.Join(conflicts, "; ")
		f.Mend = "if they are from helm or kubectl apply, go on with that tool; otherwise delete them, or take their fields over with --force-conflicts"
	case len(unread) > 0:
		f.Level, f.Mend = Warning, "run doctor as a cluster administrator"
		f.Message = fmt.Sprintf("whether objects are in the way is unknown: %d of %d cannot be read, such as %s", len(unread), all, unread[0])
	case exist > 0:
		f.Message = fmt.Sprintf("%d of %d objects exist already, and nobody else has written their fields", exist, all)
	}
	return f
}

// nodes looks for a node on which pods can run, and for those with names that virtual nodes may need in the consumer. then
// says what follows if there is none.
func (b *before) nodes(ctx context.Context, then string) {
	nodes := &corev1.NodeList{}
	if err := b.cluster.List(ctx, nodes); err != nil {
		b.found(Finding{Level: Warning, Check: "nodes", Object: b.name, Message: "they cannot be read: " + err.Error(), Mend: "run doctor as a cluster administrator"})
		return
	}
	b.found(ofNodes(b.name, nodes.Items, then))
	if f, found := ofTaken(b.name, nodes.Items); found && b.cluster == b.consumer {
		b.found(f)
	}
}

// What follows without a Ready node.
const (
	noNodeHere  = "the manager that install creates does not start, nor does any pod that stays here"
	noNodeThere = "its virtual node will offer nothing, so no pod gets there"
)

// ofNodes is the finding about the nodes on which pods can run. Virtual nodes do not count.
func ofNodes(name string, nodes []corev1.Node, then string) Finding {
	all, ready := 0, 0
	for i := range nodes {
		if nodes[i].Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
			continue
		}
		all++
		if slices.ContainsFunc(nodes[i].Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	f := Finding{Level: OK, Check: "nodes", Object: name, Message: fmt.Sprintf("%d of its %d nodes are Ready", ready, all)}
	if ready > 0 {
		return f
	}
	f.Level, f.Message, f.Mend = Warning, fmt.Sprintf("none of its %d nodes is Ready: %s", all, then), "kubectl describe nodes says why"
	if all == 0 {
		f.Message, f.Mend = "it has no node: "+then, "add one; a provider whose autoscaler adds nodes: docs/spill.md, providers that grow"
	}
	return f
}

// ofTaken is the finding about nodes of others with names that virtual nodes may need.
func ofTaken(name string, nodes []corev1.Node) (_ Finding, found bool) {
	var taken []string
	for i := range nodes {
		if strings.HasPrefix(nodes[i].Name, v1alpha1.VirtualNodePrefix) && nodes[i].Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual {
			taken = append(taken, nodes[i].Name)
		}
	}
	return Finding{
		Level: Warning, Check: "nodes", Object: name, Message: "nodes of others have names that begin like those of virtual nodes: " + sorted(taken),
		Mend: "bind no provider with a clusterID that is the rest of such a name",
	}, len(taken) > 0
}

// read returns the object as it is in the cluster, or nil.
func (b *before) read(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	w := &objects.Writer{Cluster: b.cluster}
	return w.Get(ctx, object)
}

func typed(shipped []*unstructured.Unstructured) []client.Object {
	all := make([]client.Object, len(shipped))
	for i, object := range shipped {
		all[i] = object
	}
	return all
}
