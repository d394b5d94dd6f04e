// Package objects applies and deletes the objects that are shipped in config, and reports what it did.
package objects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/precondition"
)

// Writer writes to one cluster.
type Writer struct {
	Cluster *cli.Cluster
	// Side is consumer or provider, for the steps.
	Side   string
	Output *cli.Output
	DryRun bool
	// Force takes over fields from other field managers.
	Force bool
	// Profile is the profile of limits that was asked for; empty if none was.
	Profile string
	// Created has the objects that Apply has created, in order.
	Created []*unstructured.Unstructured
}

// Apply applies an object by server-side apply, and reports whether that changed anything.
func (w *Writer) Apply(ctx context.Context, object *unstructured.Unstructured) error {
	before, err := w.Get(ctx, object)
	if err != nil {
		return err
	}
	if before != nil && account.IsLimits(object) {
		w.keepLimits(before, object)
		return nil
	}
	if before == nil && w.DryRun {
		w.did(object, "created", "") // Its namespace or kind may not exist yet.
		return nil
	}
	after, err := w.write(ctx, before, object)
	switch {
	case err != nil:
		return w.explained("applying", object, err)
	case before == nil:
		w.Created = append(w.Created, after)
		w.did(object, "created", "")
	case same(before, after):
		w.did(object, "unchanged", "")
	default:
		w.did(object, "configured", "")
	}
	return nil
}

func (w *Writer) write(ctx context.Context, before, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var options []client.ApplyOption
	if w.DryRun {
		options = append(options, client.DryRunAll)
	}
	if w.Force {
		options = append(options, client.ForceOwnership)
	}
	if before != nil && byHelm(before) && w.changesNothing(ctx, before, object) {
		return before, nil // Helm will change it, and a second owner of its fields would cause conflicts.
	}
	after := object.DeepCopy()
	err := account.Apply(ctx, w.Cluster, after, cli.Owner, options...)
	// Fields with defaults inside conflict even if nothing would change.
	if apierrors.IsConflict(err) && before != nil && w.changesNothing(ctx, before, object) {
		return before, nil
	}
	return after, err
}

// byHelm reports whether an object belongs to a release of Helm.
func byHelm(object client.Object) bool {
	return object.GetLabels()["app.kubernetes.io/managed-by"] == "Helm"
}

// changesNothing reports whether applying an object would leave it as it is.
func (w *Writer) changesNothing(ctx context.Context, before, object *unstructured.Unstructured) bool {
	forced, err := w.forced(ctx, object)
	return err == nil && same(before, forced)
}

// forced returns what the object would be if all conflicts were forced.
func (w *Writer) forced(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	after := object.DeepCopy()
	return after, account.Apply(ctx, w.Cluster, after, cli.Owner, client.DryRunAll, client.ForceOwnership)
}

// keepLimits leaves the limits of the provider's administrator as they are, and reports how they differ.
func (w *Writer) keepLimits(before, shipped *unstructured.Unstructured) {
	differ := Differ(before, shipped)
	if len(differ) == 0 {
		w.did(shipped, "unchanged", "")
		return
	}
	w.did(shipped, "kept", ofKept(differ, w.Profile))
	if warning := Wider(before, shipped); warning != "" {
		w.Output.Warn("%s: %s", w.Cluster.Name, warning)
	}
}

// ofKept says in which keys the limits differ. Only who asks for a profile may want to replace what an administrator has set.
func ofKept(differ []string, profile string) string {
	if profile == "" {
		return "it has its own values of " + strings.Join(differ, ", ")
	}
	return "it differs from the profile " + profile + " in " + strings.Join(differ, ", ") + "; to reset it, delete it and run this again"
}

// Wider returns a warning if the existing limits allow what the wanted limits do not; "" otherwise.
func Wider(there, wanted *unstructured.Unstructured) string {
	a, b := data(there), data(wanted)
	more := field.OpensMore(a, b)
	if len(more) == 0 {
		return ""
	}
	return fmt.Sprintf("THE CONSUMER IS LESS CONFINED THAN REQUESTED: the existing limits are those of the profile %q, not %q. They allow more in %s, and are kept. "+
		"To replace them: kubectl delete configmap %s -n %s in the provider, and run this again",
		field.LimitsOf(a).Profile, field.LimitsOf(b).Profile, strings.Join(more, ", "), there.GetName(), there.GetNamespace())
}

func data(object *unstructured.Unstructured) map[string]string {
	found, _, _ := unstructured.NestedStringMap(object.Object, "data")
	return found
}

// Differ returns the keys of a ConfigMap that differ from the shipped one.
func Differ(there, shipped *unstructured.Unstructured) []string {
	a, b := data(there), data(shipped)
	var differ []string
	for key := range b {
		if a[key] != b[key] {
			differ = append(differ, key)
		}
	}
	for key := range a {
		if _, shipped := b[key]; !shipped {
			differ = append(differ, key)
		}
	}
	slices.Sort(differ)
	return differ
}

// Missing reports whether the cluster lacks an object.
func (w *Writer) Missing(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	there, err := w.Get(ctx, object)
	return err == nil && there == nil, err
}

// Get returns the object as it is in the cluster, or nil.
func (w *Writer) Get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(object.GroupVersionKind())
	err := w.Cluster.Get(ctx, client.ObjectKeyFromObject(object), there)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, w.explained("reading", object, err)
	}
	return there, nil
}

// MayDelete returns an error with the rights that the user lacks to delete the objects.
func (w *Writer) MayDelete(ctx context.Context, all []*unstructured.Unstructured) error {
	asked := make([]client.Object, len(all))
	for i, object := range all {
		asked[i] = object
	}
	return w.Cluster.Require(ctx, w.Cluster.ToDelete(asked...))
}

// Delete deletes the objects in reverse order, each as it was just read. It waits until each is gone, because
// a later object may need an earlier one. An object with a UID never matches another object of its name.
func (w *Writer) Delete(ctx context.Context, all []*unstructured.Unstructured) error {
	for _, object := range slices.Backward(all) {
		there, err := w.Get(ctx, object)
		if err != nil {
			return err
		}
		if there == nil || object.GetUID() != "" && object.GetUID() != there.GetUID() {
			continue
		}
		if w.DryRun {
			w.did(object, "deleted", "")
			continue
		}
		if there.GetDeletionTimestamp() == nil {
			options := []client.DeleteOption{precondition.Exactly(there)}
			if object.GetKind() == "Deployment" {
				options = append(options, client.PropagationPolicy(metav1.DeletePropagationForeground)) // This waits for its pods.
			}
			err := w.Cluster.Delete(ctx, there, options...)
			if client.IgnoreNotFound(err) != nil {
				return w.explained("deleting", object, err)
			}
		}
		if err := w.gone(ctx, there); err != nil {
			return err
		}
		w.did(object, "deleted", "")
	}
	return nil
}

func (w *Writer) gone(ctx context.Context, object *unstructured.Unstructured) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(object.GroupVersionKind().GroupVersion().WithKind(object.GetKind() + "List"))
	watched := follow.Watched{List: list, Options: []client.ListOption{
		client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()},
	}}
	err := follow.Until(ctx, w.Cluster, []follow.Watched{watched}, func(ctx context.Context) (bool, error) {
		there, err := w.Get(ctx, object)
		if err != nil || there == nil || there.GetUID() != object.GetUID() {
			return err == nil, err
		}
		w.Output.Waiting(w.Side + ": " + Name(object) + " is being deleted" + held(there))
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s is gone from %s: %w", Name(object), w.Cluster.Name, err)
	}
	return nil
}

// held says which finalizers hold up the deletion of an object, and what the cluster says about that of a namespace.
func held(object *unstructured.Unstructured) string {
	said := ""
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		said = "; it waits for the finalizers " + strings.Join(finalizers, ", ")
	}
	namespace := &corev1.Namespace{}
	if object.GetKind() != "Namespace" || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, namespace) != nil {
		return said
	}
	if blocker := namespacemap.DeletionBlocker(namespace); blocker != "" {
		said += "; " + blocker
	}
	return said
}

func (w *Writer) did(object *unstructured.Unstructured, action, message string) {
	w.Output.Did(cli.Step{Cluster: w.Side, Object: Name(object), Namespace: object.GetNamespace(), Action: action, Message: message})
}

func (w *Writer) explained(doing string, object *unstructured.Unstructured, err error) error {
	if apierrors.IsConflict(err) && !w.Force {
		return fmt.Errorf("%s %s in %s: %w; --force-conflicts takes these fields over", doing, Name(object), w.Cluster.Name, err)
	}
	return fmt.Errorf("%s %s in %s: %w", doing, Name(object), w.Cluster.Name, err)
}

// Name returns kind/name, as kubectl prints it.
func Name(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind()
	text := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		text += "." + kind.Group
	}
	return text + "/" + object.GetName()
}

// same compares the fields that users write.
func same(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(plain(a), plain(b))
}

func plain(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	object.SetGeneration(0)
	delete(object.Object, "status") // Others write it meanwhile.
	return object.Object
}
