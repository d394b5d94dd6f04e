// Package confined asks a provider, as a consumer's account, whether its policies confine the account.
package confined

import (
	"context"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
)

// refused returns, by policy of the provider, an object that the policy refuses to every consumer: it lacks Spillway's
// labels. The policy for exec is missing, because there is no dry run of exec.
func refused() map[string]client.Object {
	meta := metav1.ObjectMeta{GenerateName: "spillway-doctor-", Namespace: config.ProviderNamespace}
	anywhere := metav1.ObjectMeta{GenerateName: "spillway-doctor-"}
	backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "none", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: PodSpec()}
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	return map[string]client.Object{
		"spillway-consumers":         &corev1.Namespace{ObjectMeta: anywhere},
		"spillway-consumers-pods":    pod,
		"spillway-consumers-objects": &corev1.ConfigMap{ObjectMeta: meta},
		"spillway-consumers-leases":  &coordinationv1.Lease{ObjectMeta: meta},
		"spillway-consumers-routes":  &networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{DefaultBackend: backend}},
		"spillway-consumers-volumes": &corev1.PersistentVolume{ObjectMeta: anywhere, Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "none", Path: "/none"}},
		}},
	}
}

// PodSpec returns the spec of a pod that is never created. It complies with the pod security level restricted.
func PodSpec() corev1.PodSpec {
	return corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "none", Image: "none", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}
}

// Ask asks the provider, as the consumer's account and in a dry run, for objects that its policies must refuse. It returns the
// answers by policy. The account may not read the policies, so this shows whether they exist and take effect.
func Ask(ctx context.Context, account client.Client) map[string]error {
	answers := map[string]error{}
	for policy, object := range refused() {
		answers[policy] = account.Create(ctx, object, client.DryRunAll)
	}
	return answers
}

// NoParams is what the policies of a provider answer to everything if its API server sees no limits.
const NoParams = "no params found for policy binding"

// RestartForLimits says what to do about that.
const RestartForLimits = "if ConfigMap " + config.ProviderNamespace + "/" + config.Limits + " exists, the provider's API server no longer sees it, because all policies had been deleted " +
	"(https://github.com/kubernetes/kubernetes/issues/130887): restart its API servers"

// Verdict says whether the policies of a provider confine its consumers, and if not, what to do about it.
type Verdict struct {
	OK            bool
	Message, Mend string
}

// Judge interprets the answers, by policy. Another refusal than the policy's own, such as a missing right, says nothing
// about the policy. name is the binding.
func Judge(name string, answers map[string]error) (_ Verdict, known bool) {
	var missing []string
	for policy, err := range answers {
		switch {
		case err == nil:
			missing = append(missing, policy)
		case strings.Contains(err.Error(), NoParams):
			return Verdict{Message: "they see no limits, so they refuse everything that the consumer's account asks for", Mend: RestartForLimits}, true
		case strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'"):
			known = true
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return Verdict{
			Message: "the provider accepts from the consumer's account what these ValidatingAdmissionPolicies should refuse, so they are missing or have no effect: " + strings.Join(missing, ", "),
			Mend: "kubectl spillway bind " + name + " --provider-context CONTEXT applies the policies and their bindings again; " +
				"if they are there, restart the provider's API servers (https://github.com/kubernetes/kubernetes/issues/130887)",
		}, true
	}
	return Verdict{OK: true, Message: "the provider's policies confine the consumer's account"}, known
}
