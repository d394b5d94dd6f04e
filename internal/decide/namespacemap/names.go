package namespacemap

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// RemoteName returns the name of the remote namespace that an offloading asks for. consumerID is the
// consumer's name in DefaultName.
func RemoteName(offloading *v1alpha1.NamespaceOffloading, consumerID string) string {
	switch offloading.Spec.NamespaceMappingStrategy {
	case v1alpha1.MappingEnforceSameName:
		return offloading.Namespace
	case v1alpha1.MappingSelectedName:
		return offloading.Spec.RemoteNamespaceName
	default:
		return defaultName(offloading.Namespace, consumerID)
	}
}

// KnowsStrategy reports whether this version knows the strategy. A newer version may have more.
func KnowsStrategy(strategy v1alpha1.NamespaceMappingStrategy) bool {
	switch strategy {
	case "", v1alpha1.MappingDefaultName, v1alpha1.MappingEnforceSameName, v1alpha1.MappingSelectedName:
		return true
	default:
		return false
	}
}

// DefaultConsumerID returns the name of a consumer that was given none, from the UID of its kube-system
// namespace.
func DefaultConsumerID(uid types.UID) string { return string(uid[:min(len(uid), 8)]) }

func defaultName(namespace, consumerID string) string {
	name := namespace + "-" + consumerID
	if len(name) <= validation.DNS1123LabelMaxLength {
		return name
	}
	return field.Hashed(consumerID, namespace)
}

// isDefaultName reports whether a remote name may be the namespace's default one, under any consumer ID.
func isDefaultName(remote, namespace string) bool {
	return strings.HasPrefix(remote, namespace+"-") || strings.HasPrefix(remote, field.Beginning(namespace)+"-")
}

// CheckLocal refuses to offload namespaces of the cluster itself or of the manager. The manager's namespace
// has the credentials for every provider.
func CheckLocal(namespace, managerNamespace string) error {
	if namespace == managerNamespace || strings.HasPrefix(namespace, "kube-") {
		return fmt.Errorf("namespace %s is a system namespace and is never offloaded", namespace)
	}
	return nil
}

// CheckRemote refuses remote names that belong to the provider or to Spillway.
func CheckRemote(name, managerNamespace string) error {
	if name == "default" || name == managerNamespace || strings.HasPrefix(name, "kube-") {
		return fmt.Errorf("remote namespace %s is reserved: use another name", name)
	}
	return nil
}
