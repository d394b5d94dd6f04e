package integration

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
)

// is matches a condition. Its message must contain each text.
func is(status metav1.ConditionStatus, reason string, texts ...string) types.GomegaMatcher {
	matchers := []types.GomegaMatcher{HaveField("Status", status), HaveField("Reason", reason)}
	for _, text := range texts {
		matchers = append(matchers, HaveField("Message", ContainSubstring(text)))
	}
	return And(matchers...)
}

func isTrue(reason string, texts ...string) types.GomegaMatcher {
	return is(metav1.ConditionTrue, reason, texts...)
}
func isFalse(reason string, texts ...string) types.GomegaMatcher {
	return is(metav1.ConditionFalse, reason, texts...)
}

// condition reads a condition of a ClusterBinding.
func (c *controlPlane) condition(cb *v1alpha1.ClusterBinding, kind string) func() (metav1.Condition, error) {
	return func() (metav1.Condition, error) {
		current, err := c.binding(cb.Name)
		if err != nil {
			return metav1.Condition{}, err
		}
		return find(current.Status.Conditions, kind)
	}
}

func find(conditions []metav1.Condition, kind string) (metav1.Condition, error) {
	if found := meta.FindStatusCondition(conditions, kind); found != nil {
		return *found, nil
	}
	return metav1.Condition{}, fmt.Errorf("there is no condition %s among %v", kind, conditions)
}

func (c *controlPlane) binding(name string) (*v1alpha1.ClusterBinding, error) {
	cb := &v1alpha1.ClusterBinding{}
	return cb, c.Get(ctx, client.ObjectKey{Name: name}, cb)
}

// bindingIsReady waits until the bindings are Ready.
func (c *controlPlane) bindingIsReady(bindings ...*v1alpha1.ClusterBinding) {
	GinkgoHelper()
	for _, cb := range bindings {
		Eventually(c.condition(cb, v1alpha1.BindingReady)).Should(isTrue(v1alpha1.ReasonReady), "binding %s should become ready", cb.Name)
	}
}

// offloading reads the status of the NamespaceOffloading of a namespace.
func (c *controlPlane) offloading(namespace string) func() (v1alpha1.NamespaceOffloadingStatus, error) {
	return func() (v1alpha1.NamespaceOffloadingStatus, error) {
		nso := &v1alpha1.NamespaceOffloading{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}, nso)
		return nso.Status, err
	}
}

// inPhase matches the status of a NamespaceOffloading. The reason of its condition Ready is the phase, and
// its message must contain each text.
func inPhase(phase v1alpha1.OffloadingPhase, texts ...string) types.GomegaMatcher {
	return And(
		HaveField("OffloadingPhase", phase),
		WithTransform(func(status v1alpha1.NamespaceOffloadingStatus) (metav1.Condition, error) {
			return find(status.Conditions, v1alpha1.OffloadingReady)
		}, And(is(conditionOf(phase), string(phase), texts...))),
	)
}

func conditionOf(phase v1alpha1.OffloadingPhase) metav1.ConditionStatus {
	if phase == v1alpha1.OffloadingPhaseReady {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// offloadingIsReady waits until the offloadings of the namespaces are Ready.
func (c *controlPlane) offloadingIsReady(namespaces ...string) {
	GinkgoHelper()
	for _, namespace := range namespaces {
		Eventually(c.offloading(namespace)).Should(inPhase(v1alpha1.OffloadingPhaseReady), "the offloading of %s should become ready", namespace)
	}
}

// passes offloads another namespace, and waits until it is Ready. By then the manager has begun everything
// that it was going to do for others before.
func (c *controlPlane) passes(selector *v1alpha1.ClusterSelector) {
	GinkgoHelper()
	c.offloadingIsReady(c.offloadNew(selector))
}

// clustersOf matches the clusterIDs in the status of an offloading.
func clustersOf(matcher types.GomegaMatcher) types.GomegaMatcher {
	return WithTransform(func(status v1alpha1.NamespaceOffloadingStatus) []string {
		ids := []string{}
		for _, remote := range status.RemoteNamespaceConditions {
			ids = append(ids, remote.Cluster)
		}
		return ids
	}, matcher)
}

// remoteCondition matches a condition about one cluster in the status of an offloading.
func remoteCondition(cb *v1alpha1.ClusterBinding, kind string, matcher types.GomegaMatcher) types.GomegaMatcher {
	return WithTransform(func(status v1alpha1.NamespaceOffloadingStatus) (metav1.Condition, error) {
		for _, remote := range status.RemoteNamespaceConditions {
			if remote.Cluster == cb.Spec.ClusterID {
				return find(remote.Conditions, kind)
			}
		}
		return metav1.Condition{}, fmt.Errorf("nothing is said about cluster %s", cb.Spec.ClusterID)
	}, matcher)
}

// entry reads the entry of a local namespace in the NamespaceMap of a binding.
func (c *controlPlane) entry(cb *v1alpha1.ClusterBinding, namespace string) func() (v1alpha1.CurrentMapping, error) {
	return func() (v1alpha1.CurrentMapping, error) {
		nsm := &v1alpha1.NamespaceMap{}
		if err := c.Get(ctx, client.ObjectKey{Name: cb.Name}, nsm); err != nil {
			return v1alpha1.CurrentMapping{}, err
		}
		if found := namespacemap.FindCurrent(nsm.Status.CurrentMapping, namespace); found != nil {
			return *found, nil
		}
		return v1alpha1.CurrentMapping{}, fmt.Errorf("NamespaceMap %s says nothing about %s", nsm.Name, namespace)
	}
}

// mapped matches an entry of a NamespaceMap.
func mapped(phase v1alpha1.MappingPhase, reason string, texts ...string) types.GomegaMatcher {
	matchers := []types.GomegaMatcher{HaveField("Phase", phase), HaveField("Reason", reason)}
	for _, text := range texts {
		matchers = append(matchers, HaveField("Message", ContainSubstring(text)))
	}
	return And(matchers...)
}

var (
	accepted   = mapped(v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive)
	unanswered = mapped(v1alpha1.MappingAccepted, v1alpha1.ReasonProviderUnreachable, "last known state", v1alpha1.ReasonUnreachable)
)

// namespace reads a namespace.
func (c *controlPlane) namespace(name string) func() (*corev1.Namespace, error) {
	return func() (*corev1.Namespace, error) {
		namespace := &corev1.Namespace{}
		return namespace, c.Get(ctx, client.ObjectKey{Name: name}, namespace)
	}
}

// fetching reads an object to check whether it exists.
func (c *controlPlane) fetching(object client.Object) func() error {
	return func() error { return c.Get(ctx, client.ObjectKeyFromObject(object), object) }
}

// has reports whether a namespace exists.
func (c *controlPlane) has(name string) func() (bool, error) {
	return func() (bool, error) {
		_, err := c.namespace(name)()
		return err == nil, client.IgnoreNotFound(err)
	}
}

// absent matches the error of reading an object that does not exist.
var absent = WithTransform(apierrors.IsNotFound, BeTrue())

// remoteName is the name with the strategy DefaultName.
func remoteName(namespace string) string { return namespace + "-" + homeID }

// ofBinding lists the namespaces of a provider with the mark of a binding of that clusterID, of any consumer.
func (c *controlPlane) ofBinding(cb *v1alpha1.ClusterBinding) func() ([]string, error) {
	return func() ([]string, error) {
		var list corev1.NamespaceList
		err := c.List(ctx, &list, client.MatchingLabels{v1alpha1.LabelBinding: cb.Spec.ClusterID})
		names := []string{}
		for _, namespace := range list.Items {
			names = append(names, namespace.Name)
		}
		return names, err
	}
}
