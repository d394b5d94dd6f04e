package clusterbinding

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// setVersionSkew reports that the CustomResourceDefinitions in the consumer are of another version. While
// that is not known, the last verdict stays.
func setVersionSkew(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	if s.Skew == nil {
		return
	}
	missing, further := "", ""
	if s.Skew.Missing != "" {
		missing = "the CustomResourceDefinitions of this cluster are older than the manager, and drop its writes to " + s.Skew.Missing +
			"; apply those of its version: kubectl spillway install, or config/crd"
	}
	if s.Skew.Further != "" {
		further = "the CustomResourceDefinitions of this cluster have fields or values that this manager does not know and ignores: " + s.Skew.Further +
			"; install the manager of their version"
	}
	reason, message := v1alpha1.ReasonDefinitionsOlder, missing
	switch {
	case missing == "" && further == "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingVersionSkew)
		return
	case missing == "":
		reason, message = v1alpha1.ReasonDefinitionsNewer, further
	case further != "":
		message += "; and " + further
	}
	conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingVersionSkew, metav1.ConditionTrue, reason, message))
}
