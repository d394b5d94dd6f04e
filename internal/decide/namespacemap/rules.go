package namespacemap

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Rules are a ClusterBinding's restrictions on the names of new remote namespaces.
type Rules struct {
	v1alpha1.RemoteNamespaces
	// Binding is the name of the ClusterBinding, for messages.
	Binding string
	// ConsumerID is part of default names.
	ConsumerID string
}

// refusal returns the rules' objection to an entry, or "".
func (r *Rules) refusal(entry v1alpha1.DesiredMapping) string {
	if r == nil {
		return ""
	}
	return r.refuse(entry)
}

// refuse says why an entry may not have its remote name; "" if it may. An entry does not record the strategy,
// so refuse derives it from the name.
func (r Rules) refuse(entry v1alpha1.DesiredMapping) string {
	allowed := r.Strategies
	if len(allowed) == 0 {
		allowed = []v1alpha1.NamespaceMappingStrategy{v1alpha1.MappingDefaultName}
	}
	if strategy := r.strategy(entry); !slices.Contains(allowed, strategy) {
		return fmt.Sprintf("spec.remoteNamespaces.strategies of ClusterBinding %s allows %s, but the name %s has strategy %s: "+
			"recreate the NamespaceOffloading with another strategy, or ask the platform engineer to allow this one", r.Binding, join(allowed), entry.RemoteNamespace, strategy)
	}
	if r.NamePattern == "" {
		return ""
	}
	_, err := regexp.Compile(r.NamePattern) // Compiled alone, because "a)|(b" is valid only inside brackets.
	if err != nil {
		return fmt.Sprintf("spec.remoteNamespaces.namePattern of ClusterBinding %s is invalid and allows nothing: %s", r.Binding, err)
	}
	if whole, err := regexp.Compile("^(?:" + r.NamePattern + ")$"); err != nil || !whole.MatchString(entry.RemoteNamespace) {
		return fmt.Sprintf("the name %s does not match spec.remoteNamespaces.namePattern of ClusterBinding %s, %q: "+
			"recreate the NamespaceOffloading with another name, or ask the platform engineer to allow this one", entry.RemoteNamespace, r.Binding, r.NamePattern)
	}
	return ""
}

// strategy returns the strategy that leads to that name. A chosen name that equals the result of another
// strategy does no more harm than that strategy.
func (r Rules) strategy(entry v1alpha1.DesiredMapping) v1alpha1.NamespaceMappingStrategy {
	switch entry.RemoteNamespace {
	case defaultName(entry.Namespace, r.ConsumerID):
		return v1alpha1.MappingDefaultName
	case entry.Namespace:
		return v1alpha1.MappingEnforceSameName
	default:
		return v1alpha1.MappingSelectedName
	}
}

// Existed returns the remote namespaces that existed earlier, by local namespace. The rules do not apply to
// them.
func Existed(nsm *v1alpha1.NamespaceMap) map[string]string {
	there := make(map[string]string, len(nsm.Status.CurrentMapping))
	for i := range nsm.Status.CurrentMapping {
		entry := &nsm.Status.CurrentMapping[i]
		if entry.Phase == v1alpha1.MappingAccepted || entry.Phase == v1alpha1.MappingTerminating && entry.Reason == v1alpha1.ReasonNamespaceTerminating {
			there[entry.Namespace] = entry.RemoteNamespace
		}
	}
	return there
}

// Existing returns the remote namespaces that exist according to the status, by local namespace.
func Existing(nsm *v1alpha1.NamespaceMap) map[string]string {
	there := make(map[string]string, len(nsm.Status.CurrentMapping))
	for i := range nsm.Status.CurrentMapping {
		if entry := &nsm.Status.CurrentMapping[i]; entry.Phase != v1alpha1.MappingCreationLoopBackOff {
			there[entry.Namespace] = entry.RemoteNamespace
		}
	}
	return there
}

func join(strategies []v1alpha1.NamespaceMappingStrategy) string {
	names := make([]string, 0, len(strategies))
	for _, s := range strategies {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
