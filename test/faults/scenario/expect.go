package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// patience bounds the preparation of a scenario and one step of a run without faults, on a machine that may
// be busy.
const patience = time.Minute

// eventually waits until the check passes.
func eventually(ctx context.Context, w *world.World, until Func) error {
	return rig.Eventually(ctx, patience, func(ctx context.Context) error { return until(ctx, w) })
}

// all calls several Funcs in order, until one returns an error.
func all(wants ...Func) Func {
	return func(ctx context.Context, w *world.World) error {
		for _, want := range wants {
			if err := want(ctx, w); err != nil {
				return err
			}
		}
		return nil
	}
}

// get reads an object from a cluster.
func get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, w *world.World, cluster, namespace, name string) (P, error) {
	object := P(new(T))
	err := w.Cluster(cluster).Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cluster, err)
	}
	return object, nil
}

// gone wants an object not to exist.
func gone[T any, P interface {
	*T
	client.Object
}](cluster string, name func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		key := name(w)
		object, err := get[T, P](ctx, w, cluster, key.Namespace, key.Name)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case !object.GetDeletionTimestamp().IsZero():
			return fmt.Errorf("%s: %T %s is being deleted, finalizers %v", cluster, object, key, object.GetFinalizers())
		default:
			return fmt.Errorf("%s: %T %s is there", cluster, object, key)
		}
	}
}

// named returns the key of an object that has the same name in every lane.
func named(namespace, name string) func(*world.World) client.ObjectKey {
	return func(*world.World) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }
}

// remotely returns the key of an object in the remote namespace of a local one.
func remotely(namespace, name string) func(*world.World) client.ObjectKey {
	return func(w *world.World) client.ObjectKey {
		return client.ObjectKey{Namespace: w.Remote(namespace), Name: name}
	}
}

// remoteNamespace returns the key of the remote namespace of a local one.
func remoteNamespace(namespace string) func(*world.World) client.ObjectKey {
	return func(w *world.World) client.ObjectKey { return client.ObjectKey{Name: w.Remote(namespace)} }
}

// condition wants a condition to have that status and reason.
func condition(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) error {
	is := meta.FindStatusCondition(conditions, kind)
	switch {
	case is == nil:
		return fmt.Errorf("there is no condition %s", kind)
	case is.Status != status || is.Reason != reason:
		return fmt.Errorf("the condition %s is %s, %s: %s; wanted %s, %s", kind, is.Status, is.Reason, is.Message, status, reason)
	}
	return nil
}

// same wants two values to be equal.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, wanted %v", what, got, want)
	}
	return nil
}

// wrap names the object that the errors are about.
func wrap(object string, errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", object, err)
	}
	return nil
}
