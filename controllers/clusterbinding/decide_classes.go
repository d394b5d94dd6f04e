package clusterbinding

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// mostClasses limits how many missing classes a message names, because a name may have 253 characters.
const mostClasses = 20

// setClasses reports whether the provider has the classes that the binding maps to. While some of them have
// not been read, or the provider is not connected, the last verdict stays. Without such classes the condition
// is removed.
func setClasses(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	var all, missing, unknown []string
	unread := s.Connection.Phase != connection.Connected
	for _, mapping := range s.Binding.Spec.Classes {
		if mapping.Kind == v1alpha1.ClassLoadBalancer || mapping.Kind == v1alpha1.ClassGateway {
			continue // The manager does not read which of these exist.
		}
		named := string(mapping.Kind) + " " + mapping.RemoteName
		all = append(all, named)
		switch s.Connection.Classes.Of(mapping.Kind, mapping.RemoteName).Presence {
		case field.ClassMissing:
			missing = append(missing, named)
		case field.ClassUnknown:
			unknown = append(unknown, named)
		case field.ClassUnread:
			unread = true
		}
	}
	imported, refused := imports(s)
	status.Classes = imported
	set := func(verdict metav1.ConditionStatus, reason, message string) {
		conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingClassesReady, verdict, reason, message))
	}
	switch {
	case len(all) == 0 || s.Duplicate():
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingClassesReady)
	case unread:
	case len(missing) > 0:
		set(metav1.ConditionFalse, v1alpha1.ReasonClassMissing, "the provider has no "+enumerate(missing)+
			": new pods, Ingresses and claims with such a class are not sent; correct spec.classes, or create the class in the provider")
	case len(refused) > 0:
		set(metav1.ConditionFalse, v1alpha1.ReasonClassRefused, "not imported, because its overhead for each pod is more than 4 CPUs or 16Gi of memory, or negative: "+enumerate(refused))
	case len(unknown) > 0:
		set(metav1.ConditionUnknown, v1alpha1.ReasonClassUnreadable, "the manager cannot tell whether the provider has "+enumerate(unknown)+
			": assumed to exist, and not imported; apply this version's provider.yaml in the provider")
	default:
		set(metav1.ConditionTrue, v1alpha1.ReasonClassesThere, "")
	}
}

// enumerate lists names in a fixed order, without duplicates, and at most mostClasses of them.
func enumerate(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostClasses; more > 0 {
		names = append(names[:mostClasses], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
