package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// The values of the provider's PriorityClass, before and after.
const (
	valueBefore = 500
	valueAfter  = 600
)

// Whatever happens to the manager, an imported class equals the provider's. It stays while the provider's is
// missing, and is deleted with the mapping.
var importedClass = Scenario{
	Name: "imported-class", Prepare: all(bind(world.P1), makeClass(valueBefore)),
	Steps: []Step{{
		Name: "a class of the provider is imported",
		Do: func(ctx context.Context, w *world.World) error {
			return mapping(v1alpha1.ClassMapping{Kind: v1alpha1.ClassPriority, Name: batch, RemoteName: classThere(w).Name, Import: true})(ctx, w)
		},
		Until: classIs(valueBefore, metav1.ConditionTrue, v1alpha1.ReasonClassesThere),
	}, {
		Name:  "it is deleted in the provider",
		Do:    deleteIn(world.P1, &schedulingv1.PriorityClass{}, classThere),
		Until: classIs(valueBefore, metav1.ConditionFalse, v1alpha1.ReasonClassMissing),
	}, {
		Name:  "it is made again there, with another value",
		Do:    makeClass(valueAfter),
		Until: classIs(valueAfter, metav1.ConditionTrue, v1alpha1.ReasonClassesThere),
	}, {
		Name:  "it is not mapped any more",
		Do:    mapping(),
		Until: gone[schedulingv1.PriorityClass](world.Consumer, named("", batch)),
	}},
}

// batch is the name of the class in the consumer.
const batch = "batch"

// classThere is the class in the provider, where each lane has its own.
func classThere(w *world.World) client.ObjectKey { return client.ObjectKey{Name: w.Remote(batch)} }

// makeClass plays the provider's administrator, who creates the class.
func makeClass(value int32) Func {
	return func(ctx context.Context, w *world.World) error {
		return w.CreateIn(ctx, world.P1, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: classThere(w).Name}, Value: value})
	}
}

// classIs wants the imported class to have that value, and the binding's condition ClassesReady that status
// and reason.
func classIs(value int32, status metav1.ConditionStatus, reason string) Func {
	return func(ctx context.Context, w *world.World) error {
		binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", world.P1)
		if err != nil {
			return err
		}
		class, err := get[schedulingv1.PriorityClass](ctx, w, world.Consumer, "", batch)
		if err != nil {
			return err
		}
		return wrap("PriorityClass "+batch,
			condition(binding.Status.Conditions, v1alpha1.BindingClassesReady, status, reason),
			same("the mark", class.Labels[v1alpha1.LabelManagedBy], v1alpha1.ManagedBySpillway),
			same("that it stays", class.DeletionTimestamp.IsZero(), true),
			same("the value", class.Value, value),
			same("whether it preempts", ptr.Deref(class.PreemptionPolicy, ""), corev1.PreemptNever))
	}
}
