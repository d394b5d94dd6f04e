package doctor

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/plugin/confined"
)

// admission checks whether the API server prepares new pods. Only a new pod shows whether the API server
// reaches the webhook of the manager.
func (e *exam) admission(ctx context.Context, webhook bool) {
	at := slices.IndexFunc(e.seen.Offloadings, func(o v1alpha1.NamespaceOffloading) bool { return shows(&o) && len(o.Spec.Overflow) == 0 })
	if at < 0 {
		at = slices.IndexFunc(e.seen.Offloadings, func(o v1alpha1.NamespaceOffloading) bool { return shows(&o) })
	}
	if at < 0 {
		return
	}
	prepared, err := Prepared(ctx, e.consumer, &e.seen.Offloadings[at])
	e.found(ofAdmission(e.seen.Offloadings[at].Namespace, prepared, err, webhook))
}

// shows reports whether new pods of a namespace show that they were prepared. With spec.overflow, they may rightly lack
// the toleration. Then their affinity shows it, unless they may run on any node.
func shows(o *v1alpha1.NamespaceOffloading) bool {
	return o.DeletionTimestamp.IsZero() && o.Spec.PodOffloadingStrategy != v1alpha1.PodsLocal &&
		(len(o.Spec.Overflow) == 0 || o.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote || o.Spec.Selector() != nil)
}

// Answer is what a dry run shows.
type Answer string

// The answers of Prepared.
const (
	// Got: the pod got the toleration of virtual nodes.
	Got Answer = "Got"
	// Missed: the pod did not get it, although it should have.
	Missed Answer = "Missed"
	// Untold: the pod did not get it, but would not have got it from the policy either, as it was created in
	// this cluster.
	Untold Answer = "Untold"
)

// Prepared creates a pod in an offloaded namespace, in a dry run, and reports whether the pod was prepared
// for a provider.
func Prepared(ctx context.Context, consumer client.Client, offloading *v1alpha1.NamespaceOffloading) (Answer, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: offloading.Namespace, Name: "spillway-doctor"},
		Spec:       confined.PodSpec(),
	}
	if err := consumer.Create(ctx, pod, client.DryRunAll); err != nil {
		return Untold, err
	}
	return answer(pod, offloading), nil
}

// answer interprets the created pod, which was sent without any toleration. It may rightly lack the
// toleration: others have changed the pod, too, and some pods stay in this cluster.
func answer(made *corev1.Pod, offloading *v1alpha1.NamespaceOffloading) Answer {
	switch {
	case slices.ContainsFunc(made.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == v1alpha1.TaintVirtualNode }):
		return Got
	case len(offloading.Spec.Overflow) > 0 && asksForNodeType(made):
		return Got
	case len(offloading.Spec.Overflow) > 0 && admission.Decide(made, offloading).Required != nil:
		return Missed
	case admission.Decide(made, offloading).Toleration != nil:
		return Missed
	default:
		return Untold
	}
}

// asksForNodeType reports whether the required affinity of a pod mentions virtual nodes.
func asksForNodeType(pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return r.Key == v1alpha1.LabelNodeType })
	})
}

// ofAdmission is the finding about a pod that was created, or refused.
func ofAdmission(namespace string, prepared Answer, err error, webhook bool) Finding {
	f := Finding{Level: OK, Check: "admission", Object: namespace, Message: "new pods get the toleration for virtual nodes"}
	switch {
	case err != nil:
		f.Level, f.Message, f.Mend = Warning, "a pod cannot be created there, even in a dry run: "+err.Error(), "find out what refuses it; the check creates a pod without requests and limits, which complies with pod security restricted"
	case prepared == Missed && webhook:
		f.Level, f.Message = Error, "new pods do not get the toleration for virtual nodes: the API server gets no answer from the webhook "+v1alpha1.PodAdmissionName
		f.Mend = "the API server must reach Service " + config.Namespace + "/" + v1alpha1.WebhookService + ", which leads to port 9443 of the manager's pods (firewalls between them often let only 443 and 10250 through), and get an answer within two seconds; " +
			"see the API server's log (failed calling webhook), and the condition PodAdmission of the bindings"
	case prepared == Missed:
		f.Level, f.Message = Error, "new pods do not get the toleration for virtual nodes: the policy "+v1alpha1.PodAdmissionName+" has no effect"
		f.Mend = "if the API server has just started, wait half a minute; otherwise run kubectl spillway install again"
	case prepared == Untold:
		f.Level, f.Message = Warning, "cannot check whether new pods there can run in a provider: the test pod stays in this cluster, because of its spec or of a change by others"
		f.Mend = "see which mutating webhooks and policies change pods there, and the clusterSelector of the NamespaceOffloading; docs/concepts.md says which pods run on virtual nodes"
	}
	return f
}

func hasWebhook(shipped []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(shipped, func(o *unstructured.Unstructured) bool { return o.GetKind() == "MutatingWebhookConfiguration" })
}
