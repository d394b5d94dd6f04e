package pod

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	apitoken "github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

// runAs sets the ServiceAccount of a remote pod, if the ClusterBinding maps the local one. The pod may get the
// token of that account for the provider's API only if the limits list it. Then the local pod and the
// remote ServiceAccount decide, as in any cluster. A pod that uses the consumer's API has only that token.
func runAs(remote, local *corev1.Pod, accounts field.Accounts, limits *field.Limits) {
	name, mapped := accounts.Of(local.Namespace, cmp.Or(local.Spec.ServiceAccountName, field.DefaultAccount))
	if !mapped {
		return
	}
	remote.Spec.ServiceAccountName = name
	if _, token := limits.Account(remote.Namespace, name); !token || apitoken.Uses(&remote.Spec, local.UID) {
		return
	}
	remote.Spec.AutomountServiceAccountToken = nil
	if automount := local.Spec.AutomountServiceAccountToken; automount != nil {
		remote.Spec.AutomountServiceAccountToken = ptr.To(*automount)
	}
}

// hasToken reports whether a remote pod may have the token of its ServiceAccount for the provider's API.
func hasToken(remote *corev1.Pod) bool {
	return ptr.Deref(remote.Spec.AutomountServiceAccountToken, true)
}
