package doctor

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// admission checks whether the API server prepares new pods. Only a new pod shows whether the API server
// reaches the webhook of the manager.
func (e *exam) admission(ctx context.Context) {
	at := slices.IndexFunc(e.seen.Offloadings, func(o v1alpha1.NamespaceOffloading) bool {
		return o.DeletionTimestamp.IsZero() && o.Spec.PodOffloadingStrategy != v1alpha1.PodsLocal
	})
	if at < 0 {
		return
	}
	prepared, err := Prepared(ctx, e.consumer, &e.seen.Offloadings[at])
	e.found(ofAdmission(e.seen.Offloadings[at].Namespace, prepared, err, hasWebhook(e.shipped)))
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
		Spec: corev1.PodSpec{
			// For namespaces with the pod security level restricted.
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "none", Image: "none", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
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
	case admission.Decide(made, offloading).Toleration != nil:
		return Missed
	default:
		return Untold
	}
}

// ofAdmission is the finding about a pod that was created, or refused.
func ofAdmission(namespace string, prepared Answer, err error, webhook bool) Finding {
	f := Finding{Level: OK, Check: "admission", Object: namespace, Message: "a pod that is made now gets what lets it go to a provider"}
	switch {
	case err != nil:
		f.Level, f.Message, f.Mend = Warning, "no pod could be made there, not even in a dry run: "+err.Error(), "see who or what refuses it; the check makes a pod without requests and limits, which complies with pod security restricted"
	case prepared == Missed && webhook:
		f.Level, f.Message = Error, "a pod that is made now does not get what lets it go to a provider: the API server has no answer from the webhook "+v1alpha1.PodAdmissionName
		f.Mend = "the API server must reach Service " + config.Namespace + "/" + v1alpha1.WebhookService + ", which leads to port 9443 of the manager's pods (firewalls between them often let only 443 and 10250 through), and get an answer within two seconds; " +
			"its log says why it gets none (failed calling webhook), and the condition PodAdmission of the bindings what the manager knows"
	case prepared == Missed:
		f.Level, f.Message = Error, "a pod that is made now does not get what lets it go to a provider: the policy "+v1alpha1.PodAdmissionName+" has no effect"
		f.Mend = "an API server that has just started takes half a minute; else kubectl spillway install applies the policy again"
	case prepared == Untold:
		f.Level, f.Message = Warning, "whether pods get there what lets them go to a provider cannot be told: the pod that was made to try it stays in this cluster, as it was made or changed by others"
		f.Mend = "see which mutating webhooks and policies change pods there, and its clusterSelector; docs/concepts.md says which pods get to a virtual node"
	}
	return f
}

func hasWebhook(shipped []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(shipped, func(o *unstructured.Unstructured) bool { return o.GetKind() == "MutatingWebhookConfiguration" })
}
