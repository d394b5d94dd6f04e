package test

import (
	"slices"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

// sign is a text that shows the cause of a refusal.
type sign struct{ text, cause, mend string }

// signs are how API servers word refusals. The first one that matches counts.
var signs = []sign{
	{"needs the ClusterRole spillway-volumes", "RBAC of the consumer does not let the manager create PersistentVolumes", doctor.BindVolumes},
	{v1alpha1.ReasonForbiddenHere + ": PersistentVolume", "a policy or a webhook of the consumer refuses the manager's PersistentVolume", "exempt ServiceAccount " + config.Manager + " of namespace " + config.Namespace + " in the policy or webhook that the message names"},
	{": User \"" + manager + "\"", "the manager lacks a right in the consumer", "kubectl spillway install applies the roles again"},
	{"no params found for policy binding", "the provider has no limits for consumers, or its API server does not see them",
		"kubectl spillway bind %s --provider-context CONTEXT recreates ConfigMap " + config.ProviderNamespace + "/" + config.Limits + "; if it is there, restart the provider's API servers"},
	{"spec.remoteNamespaces.namePattern", "the binding's own rule for names of remote namespaces refuses it",
		"allow names that begin with " + prefix + " in spec.remoteNamespaces.namePattern of ClusterBinding %s"},
	{"exceeded quota", "a ResourceQuota in the provider is exhausted",
		"the provider's administrator must raise it, or free what uses it: kubectl describe resourcequota -n %r"},
	{"status unknown for quota", "a ResourceQuota in the provider has no status yet", "the provider's kube-controller-manager must run"},
	{"failed quota", "a ResourceQuota in the provider demands more of a pod than it says", "the provider's administrator must give namespace %r a LimitRange with defaults"},
	{"ValidatingAdmissionPolicy 'spillway-consumers", "the provider's limits refuse it",
		"the provider's administrator may allow it in ConfigMap " + config.ProviderNamespace + "/" + config.Limits + ": docs/operations.md, limits"},
	{"ClaimNotBound", "the claim gets no volume",
		"docs/operations.md, volumes that a provider creates: the manager needs the ClusterRole spillway-volumes, and the provider lists the class in storageClasses of its limits"},
	{"security context constraint", "the provider is OpenShift, which refuses the user ID of the pod", "leave it to the provider: --run-as-user=-1"},
	{"violates PodSecurity", "the pod security level of the namespace in the provider refuses it", "docs/operations.md, limits, podSecurity"},
	{"admission webhook", "an admission webhook of the provider refuses it, or does not answer", "ask the provider's administrator about the webhook in the message"},
	{"ValidatingAdmissionPolicy", "an admission policy of the provider refuses it", "ask the provider's administrator about the policy in the message"},
	{"does not let Spillway", "the consumer's account lacks a right in the provider", bindAgain},
	{": User \"", "the consumer's account lacks a right in the provider", bindAgain},
}

// manager is the user name of the manager in the consumer.
const manager = "system:serviceaccount:" + config.Namespace + ":" + config.Manager

const bindAgain = "kubectl spillway bind %s --provider-context CONTEXT applies the roles again"

// refusals are the reasons of conditions that end a wait early.
var refusals = []string{
	v1alpha1.ReasonRejected, v1alpha1.ReasonRightsMissing, v1alpha1.ReasonRefused, v1alpha1.ReasonLimitsInvalid, v1alpha1.ReasonLimitsMissing, v1alpha1.ReasonLimitsForbidden, v1alpha1.ReasonQuotaExceeded,
}

// isRefusal reports whether waiting on makes little sense.
func isRefusal(reason, message string) bool {
	return slices.Contains(refusals, reason) || slices.ContainsFunc(signs, func(s sign) bool { return strings.Contains(message, s.text) })
}

func bySign(text string) (cause, mend string) {
	for _, s := range signs {
		if strings.Contains(text, s.text) {
			return s.cause, s.mend
		}
	}
	return "", ""
}
