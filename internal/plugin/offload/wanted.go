package offload

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Wanted is what the flags set in a NamespaceOffloading. Other fields stay as they are, or get their
// defaults.
type Wanted struct {
	Namespace string
	// Strategy is one of Local, Remote, LocalAndRemote and LocalFirst.
	Strategy string
	// Clusters are clusterIDs. Selector selects labels of virtual nodes.
	Clusters []string
	Selector string
	// Mapping is one of DefaultName, EnforceSameName and SelectedName. RemoteName is the name for
	// SelectedName.
	Mapping, RemoteName string
	// Resources are the values of spec.resources; nil if the flag is not set.
	Resources []string
}

// offloading returns the NamespaceOffloading, changed only where the flags say so. there may be nil.
func (w Wanted) offloading(there *v1alpha1.NamespaceOffloading) (*v1alpha1.NamespaceOffloading, error) {
	after := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: v1alpha1.OffloadingName}}
	if there != nil {
		after = there.DeepCopy()
	}
	spec := &after.Spec
	spec.PodOffloadingStrategy = v1alpha1.PodOffloadingStrategy(cmp.Or(w.Strategy, string(spec.PodOffloadingStrategy)))
	spec.NamespaceMappingStrategy = v1alpha1.NamespaceMappingStrategy(cmp.Or(w.Mapping, string(spec.NamespaceMappingStrategy)))
	if w.RemoteName != "" {
		spec.RemoteNamespaceName, spec.NamespaceMappingStrategy = w.RemoteName, v1alpha1.MappingSelectedName
	}
	if w.Resources != nil {
		spec.Resources = []v1alpha1.OffloadedResource{}
		for _, resource := range w.Resources {
			spec.Resources = append(spec.Resources, v1alpha1.OffloadedResource(resource))
		}
	}
	selector, err := w.selector()
	if selector != nil {
		spec.ClusterSelector = selector
	}
	return after, err
}

// operators maps the operators of a label selector to the operators of a node selector.
var operators = map[selection.Operator]corev1.NodeSelectorOperator{
	selection.In: corev1.NodeSelectorOpIn, selection.Equals: corev1.NodeSelectorOpIn, selection.DoubleEquals: corev1.NodeSelectorOpIn,
	selection.NotIn: corev1.NodeSelectorOpNotIn, selection.NotEquals: corev1.NodeSelectorOpNotIn,
	selection.Exists: corev1.NodeSelectorOpExists, selection.DoesNotExist: corev1.NodeSelectorOpDoesNotExist,
	selection.GreaterThan: corev1.NodeSelectorOpGt, selection.LessThan: corev1.NodeSelectorOpLt,
}

func (w Wanted) selector() (*v1alpha1.ClusterSelector, error) {
	var all []v1alpha1.ClusterSelectorRequirement
	if len(w.Clusters) > 0 {
		all = append(all, v1alpha1.ClusterSelectorRequirement{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpIn, Values: w.Clusters})
	}
	if w.Selector != "" {
		parsed, err := labels.ParseToRequirements(w.Selector)
		if err != nil {
			return nil, fmt.Errorf("--selector %s: %w", w.Selector, err)
		}
		for _, requirement := range parsed {
			all = append(all, v1alpha1.ClusterSelectorRequirement{
				Key: requirement.Key(), Operator: operators[requirement.Operator()], Values: slices.Sorted(slices.Values(requirement.ValuesUnsorted())),
			})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{MatchExpressions: all}}}, nil
}

// unbound returns the clusterIDs that no binding has.
func unbound(ids []string, bindings []v1alpha1.ClusterBinding) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(bindings, func(binding v1alpha1.ClusterBinding) bool { return binding.Spec.ClusterID == id })
	})
}
