package oracle

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/requests"
)

// lister lists all objects of a resource in a cluster, without a cache.
type lister func(cluster, resource string) ([]unstructured.Unstructured, error)

// bench judges the manager's requests before they are sent.
type bench struct {
	origin    string
	providers []string
	list      lister
}

// judge returns what is wrong with a request, given the state of the clusters at that moment. It reports an
// object only if it existed before the request was sent. An object that goes away during the check is not
// reported.
func (b *bench) judge(a Ask) ([]string, error) {
	var found []string
	for _, rule := range []func(Ask) ([]string, error){
		b.podGone, b.offloadingHeld, b.bindingHeld, b.copyGone, b.copyHeld, b.namespaceEmpty, b.namespaceHeld, b.dataGivenUp, b.dataInNamespace,
	} {
		sentences, err := rule(a)
		if err != nil {
			return found, err
		}
		found = append(found, sentences...)
	}
	return found, nil
}

// matching returns the objects of a resource in a cluster that match.
func (b *bench) matching(cluster, resource string, match func(*unstructured.Unstructured) bool) ([]*unstructured.Unstructured, error) {
	all, err := b.list(cluster, resource)
	var found []*unstructured.Unstructured
	for i := range all {
		if match(&all[i]) {
			found = append(found, &all[i])
		}
	}
	return found, err
}

// inProviders returns the sentence for each matching object in the providers.
func (b *bench) inProviders(resource string, match func(*unstructured.Unstructured) bool, sentence string) ([]string, error) {
	var found []string
	for _, provider := range b.providers {
		objects, err := b.matching(provider, resource, match)
		if err != nil {
			return found, err
		}
		for _, obj := range objects {
			found = append(found, fmt.Sprintf("%s, though %s is still in %s", sentence, title(obj), provider))
		}
	}
	return found, nil
}

// always returns what is wrong with a request that no manager may send, even if it fails.
func always(origin string, a Ask) []string {
	return append(exactly(a), unmarked(origin, a)...)
}

// exactly: a deletion names the UID of its object.
func exactly(a Ask) []string {
	if a.deletes() && a.text("preconditions", "uid") == "" {
		return []string{fmt.Sprintf("%s: the deletion of %s %s does not say which UID it means", a.Cluster, a.Resource, a.where())}
	}
	return nil
}

// unmarked: an object that the manager creates in a provider carries its mark.
func unmarked(origin string, a Ask) []string {
	if a.Cluster == Consumer || a.Verb != requests.Create || a.Subresource != "" ||
		a.text("metadata", "labels", v1alpha1.LabelManagedBy) == v1alpha1.ManagedBySpillway && a.text("metadata", "labels", v1alpha1.LabelOrigin) == origin {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s %s is made without our mark", a.Cluster, a.Resource, a.where())}
}

// podGone: the manager neither deletes a local pod nor sets a terminal phase while its remote pod may run.
func (b *bench) podGone(a Ask) ([]string, error) {
	uid, what := a.text("preconditions", "uid"), "is let go"
	if a.ends() {
		uid, what = a.text("metadata", "uid"), "is said to have ended"
	}
	if a.Cluster != Consumer || uid == "" || (!a.letsGo() && !a.ends()) {
		return nil, nil
	}
	return b.inProviders("pods", func(pod *unstructured.Unstructured) bool {
		return localUID(pod) == types.UID(uid) && !terminal(pod)
	}, fmt.Sprintf("pod %s %s", a.where(), what))
}

// offloadingHeld: an offloading keeps its finalizer until its remote namespaces are gone.
func (b *bench) offloadingHeld(a Ask) ([]string, error) {
	if _, drops := a.drops(v1alpha1.FinalizerOffloading); !drops || a.Resource != "namespaceoffloadings" {
		return nil, nil
	}
	given, err := b.givenUp()
	if err != nil {
		return nil, err
	}
	return b.inProviders("namespaces", func(ns *unstructured.Unstructured) bool {
		return b.ours(ns) && ns.GetAnnotations()[v1alpha1.AnnotationLocalNamespace] == a.Namespace && !given[ns.GetLabels()[v1alpha1.LabelBinding]]
	}, "NamespaceOffloading "+a.where()+" is released")
}

// bindingHeld: a binding keeps its finalizer until its provider has none of its remote namespaces.
func (b *bench) bindingHeld(a Ask) ([]string, error) {
	if _, drops := a.drops(v1alpha1.FinalizerBinding); !drops || a.Resource != "clusterbindings" {
		return nil, nil
	}
	given, err := b.givenUp()
	if err != nil {
		return nil, err
	}
	bindings, err := b.matching(Consumer, "clusterbindings", func(cb *unstructured.Unstructured) bool { return cb.GetName() == a.Name })
	if err != nil || len(bindings) == 0 {
		return nil, err
	}
	clusterID, _, _ := unstructured.NestedString(bindings[0].Object, "spec", "clusterID")
	shared, err := b.shared(clusterID)
	if err != nil || shared || given[clusterID] {
		return nil, err
	}
	return b.inProviders("namespaces", func(ns *unstructured.Unstructured) bool {
		return b.ours(ns) && ns.GetLabels()[v1alpha1.LabelBinding] == clusterID
	}, "ClusterBinding "+a.Name+" is released")
}

// shared reports whether several bindings have that clusterID. Only one of them has objects in the provider.
func (b *bench) shared(clusterID string) (bool, error) {
	bindings, err := b.matching(Consumer, "clusterbindings", func(cb *unstructured.Unstructured) bool {
		id, _, _ := unstructured.NestedString(cb.Object, "spec", "clusterID")
		return id == clusterID
	})
	return len(bindings) > 1, err
}

// givenUp returns the clusterIDs whose bindings allow that objects stay behind.
func (b *bench) givenUp() (map[string]bool, error) {
	bindings, err := b.list(Consumer, "clusterbindings")
	given := map[string]bool{}
	for i := range bindings {
		spec, _, _ := unstructured.NestedMap(bindings[i].Object, "spec")
		clusterID, _, _ := unstructured.NestedString(spec, "clusterID")
		policy, _, _ := unstructured.NestedString(spec, "deletionPolicy")
		_, limited, _ := unstructured.NestedString(spec, "unreachable", "deletionTimeout")
		given[clusterID] = given[clusterID] || limited || policy == string(v1alpha1.DeletionPolicyOrphan)
	}
	return given, err
}

// copied are the resources that are sent because pods need them.
var copied = []string{"configmaps", "secrets", "persistentvolumeclaims", "persistentvolumes"}

// copyGone: an object keeps its finalizer until its copy is gone.
func (b *bench) copyGone(a Ask) ([]string, error) {
	_, drops := a.drops(v1alpha1.FinalizerSync)
	uid := a.text("metadata", "uid")
	if !drops || uid == "" || a.Cluster != Consumer || !slices.Contains(copied, a.Resource) {
		return nil, nil
	}
	given, err := b.givenUp()
	if err != nil {
		return nil, err
	}
	finalizer, _ := a.drops(v1alpha1.FinalizerSync)
	clusterID := strings.TrimPrefix(finalizer, v1alpha1.FinalizerSync) // "" if the patch removes all of them.
	return b.inProviders(a.Resource, func(obj *unstructured.Unstructured) bool {
		of := obj.GetLabels()[v1alpha1.LabelBinding]
		return b.ours(obj) && !holdsData(obj) && localUID(obj) == types.UID(uid) && (clusterID == "" || of == clusterID) && !given[of]
	}, fmt.Sprintf("%s %s are released", a.Resource, a.where()))
}

// copyHeld: an object has its finalizer before its copy exists.
func (b *bench) copyHeld(a Ask) ([]string, error) {
	if a.Cluster == Consumer || a.Verb != requests.Create || a.Subresource != "" || !slices.Contains(copied, a.Resource) {
		return nil, nil
	}
	uid, binding := a.text("metadata", "annotations", v1alpha1.AnnotationLocalUID), a.text("metadata", "labels", v1alpha1.LabelBinding)
	locals, err := b.matching(Consumer, a.Resource, func(obj *unstructured.Unstructured) bool {
		return obj.GetUID() == types.UID(uid) && !slices.Contains(obj.GetFinalizers(), v1alpha1.FinalizerSync+binding)
	})
	return unheld(a, locals), err
}

// namespaceEmpty: the manager deletes a remote namespace only when no pod in it represents a local pod that
// exists.
func (b *bench) namespaceEmpty(a Ask) ([]string, error) {
	if a.Cluster == Consumer || !a.deletes() || a.Resource != "namespaces" {
		return nil, nil
	}
	remotes, err := b.matching(a.Cluster, "pods", func(pod *unstructured.Unstructured) bool {
		return pod.GetNamespace() == a.Name && b.ours(pod) && !terminal(pod)
	})
	if err != nil || len(remotes) == 0 {
		return nil, err
	}
	locals, err := b.list(Consumer, "pods")
	var found []string
	for _, remote := range remotes {
		for i := range locals {
			if locals[i].GetUID() == localUID(remote) {
				found = append(found, fmt.Sprintf("%s: namespace %s is deleted with %s, which stands for one that is there", a.Cluster, a.Name, title(remote)))
			}
		}
	}
	return found, err
}

// namespaceHeld: before the manager creates a remote namespace, its offloading and its binding have their
// finalizers.
func (b *bench) namespaceHeld(a Ask) ([]string, error) {
	if a.Cluster == Consumer || !a.creates("namespaces") {
		return nil, nil
	}
	local, binding := a.text("metadata", "annotations", v1alpha1.AnnotationLocalNamespace), a.text("metadata", "labels", v1alpha1.LabelBinding)
	unheldOffloadings, err := b.matching(Consumer, "namespaceoffloadings", func(nso *unstructured.Unstructured) bool {
		return local != "" && nso.GetNamespace() == local && !slices.Contains(nso.GetFinalizers(), v1alpha1.FinalizerOffloading)
	})
	if err != nil {
		return nil, err
	}
	shared, err := b.shared(binding)
	if err != nil {
		return nil, err
	}
	unheldBindings, err := b.matching(Consumer, "clusterbindings", func(cb *unstructured.Unstructured) bool {
		clusterID, _, _ := unstructured.NestedString(cb.Object, "spec", "clusterID")
		return clusterID == binding && !shared && !slices.Contains(cb.GetFinalizers(), v1alpha1.FinalizerBinding)
	})
	return unheld(a, append(unheldOffloadings, unheldBindings...)), err
}

func unheld(a Ask, locals []*unstructured.Unstructured) []string {
	var found []string
	for _, local := range locals {
		found = append(found, fmt.Sprintf("%s: %s %s is made before a finalizer holds %s", a.Cluster, a.Resource, a.where(), title(local)))
	}
	return found
}

func (b *bench) ours(obj *unstructured.Unstructured) bool {
	return obj.GetLabels()[v1alpha1.LabelOrigin] == b.origin && obj.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway
}

// where returns the namespace and name of the request's object.
func (a Ask) where() string {
	if a.Namespace == "" {
		return a.Name
	}
	return a.Namespace + "/" + a.Name
}
