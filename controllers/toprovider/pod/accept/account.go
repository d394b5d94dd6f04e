package accept

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// accountNotAllowed refuses a pod whose ServiceAccount the ClusterBinding maps to one that the limits do not list
// (AccountNotAllowed). As another account, the pod would fail later, for lack of rights. Before its namespace has a
// remote namespace, the pod waits for that.
func accountNotAllowed(pod *corev1.Pod, in Provider) *field.Problem {
	name, mapped := in.Accounts.Of(pod.Namespace, cmp.Or(pod.Spec.ServiceAccountName, field.DefaultAccount))
	if !mapped {
		return nil
	}
	namespace := in.TargetFor(pod.Namespace).Namespace
	if allowed, _ := in.Limits.Account(namespace, name); allowed || namespace == "" {
		return nil
	}
	return field.Refuse(v1alpha1.ReasonAccountNotAllowed,
		"spec.serviceAccountName: the provider does not allow pods to run as ServiceAccount %s/%s, to which spec.serviceAccounts of the ClusterBinding maps it; "+
			"ask the provider's administrator for it (%s in ConfigMap spillway-provider/limits)", namespace, name, field.LimitServiceAccounts)
}
