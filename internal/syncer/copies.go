package syncer

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/seeded"
	"github.com/spillway-io/spillway/internal/translate"
)

// Translation is all that is special about a kind of objects that are copied
// because something needs them. It is pure.
type Translation[T client.Object] interface {
	// RemoteName is the name of the copy.
	RemoteName(t translate.Target, local types.NamespacedName) types.NamespacedName
	// Remote is the copy, or why there is none. What it names in another local
	// namespace goes where elsewhere says.
	Remote(local T, t translate.Target, elsewhere func(namespace string) translate.Target) (T, *translate.Refusal)
	// Merge is remote as it should be, given the copy that would be created
	// now, and remote itself where nothing differs. Replace tells that what
	// differs cannot be changed.
	Merge(desired, remote T) (merged T, replace bool)
}

// copies is the Syncer of all kinds whose objects are copied.
type copies[T client.Object] struct {
	TopDown[T]
	Translation[T]
	fresh func() T
}

// SyncToRemote marks the local object, then creates the copy. The API server answers
// to the patch with the whole object, so that most often nothing has to be read for it.
func (c copies[T]) SyncToRemote(s Snapshot[T]) Plan {
	switch {
	case s.Wanted && !s.Place.Open && !s.Place.Leaving && s.Local.GetDeletionTimestamp().IsZero():
		return wait(s.Place.Problem.Reason, s.Place.Problem.Message)
	case !c.toBeSent(s) && len(c.locations(s)) == 0:
		return c.unmark(s)
	case !c.toBeSent(s):
		return Plan{} // There are others still.
	case !c.marked(s):
		return c.marking(s)
	case !s.Known:
		return wait(v1alpha1.ReasonReferenceNotSynced, "its content has not been read yet")
	}
	desired, refusal := c.desired(s)
	if refusal != nil {
		return refused(refusal)
	}
	if s.Refused != nil && s.Refused.Wait > 0 {
		return Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	}
	if need := s.Unready(); need != nil {
		return wait(need.Problem.Reason, need.Problem.Message)
	}
	return act(Action{Verb: Create, Side: Remote, Object: desired})
}

// Sync puts the copy right, or deletes it when nothing needs it any more.
func (c copies[T]) Sync(s Snapshot[T]) Plan {
	if s.Wanted && !s.Place.Open && s.Local.GetDeletionTimestamp().IsZero() {
		return Plan{} // Pods that are there still use it, whatever becomes of the namespace.
	}
	if seeded.On(seeded.CopyReleasedFirst) && !c.toBeSent(s) && c.marked(s) {
		return c.unmark(s)
	}
	if !c.toBeSent(s) && !seeded.On(seeded.CopyStays) {
		return act(cleanUp([]T{s.Remote})...)
	}
	if !s.Remote.GetDeletionTimestamp().IsZero() {
		return wait(v1alpha1.ReasonReplacing, "its copy is being deleted in the provider, and is made again when it is gone")
	}
	if !c.marked(s) {
		return c.marking(s)
	}
	if !s.Known {
		return Plan{}
	}
	return c.update(s)
}

func (c copies[T]) update(s Snapshot[T]) Plan {
	desired, refusal := c.desired(s)
	if refusal != nil {
		return refused(refusal)
	}
	merged, replace := c.Merge(desired, s.Remote)
	switch {
	case replace:
		return act(cleanUp([]T{s.Remote})...)
	case any(merged) == any(s.Remote):
		return Plan{}
	case s.Refused != nil && s.Refused.Wait > 0:
		return Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	default:
		return act(Action{Verb: Patch, Side: Remote, Object: merged, Before: s.Remote, Locked: true})
	}
}

// desired is the copy as it is to be, of which the provider's limits may leave labels
// and annotations at home, or why there is none.
func (c copies[T]) desired(s Snapshot[T]) (T, *translate.Refusal) {
	desired, refusal := c.Remote(s.Local, s.Place.Target, s.targetOf)
	switch {
	case refusal != nil:
	case present(s.Remote):
		s.Limits.Withhold(desired, s.Remote)
	default:
		s.Limits.Withhold(desired, nil)
	}
	return desired, refusal
}

// toBeSent tells whether there is to be a copy.
func (c copies[T]) toBeSent(s Snapshot[T]) bool {
	return s.Wanted && s.Place.Open && s.Local.GetDeletionTimestamp().IsZero() &&
		s.Local.GetAnnotations()[v1alpha1.LabelSync] != v1alpha1.SyncNever &&
		s.Local.GetLabels()[v1alpha1.LabelSync] != v1alpha1.SyncNever
}

// marked tells whether the local object says that and where it is sent.
func (c copies[T]) marked(s Snapshot[T]) bool {
	return s.Local.GetLabels()[v1alpha1.LabelSyncedTo+s.ClusterID] == v1alpha1.SyncedToTrue &&
		s.Local.GetAnnotations()[v1alpha1.AnnotationRemote+s.ClusterID] == strings.Join(c.locations(s), ",") &&
		controllerutil.ContainsFinalizer(s.Local, v1alpha1.FinalizerSync+s.ClusterID)
}

// locations are all places where there is a copy, or is to be one.
func (c copies[T]) locations(s Snapshot[T]) []string {
	sites := s.Sites
	if len(sites) == 0 {
		sites = []Site[T]{{Place: s.Place, Remote: s.Remote}}
	}
	var all []string
	for _, site := range sites {
		if here := s.at(site); present(here.Remote) || c.toBeSent(here) {
			all = append(all, location(c.RemoteName(site.Place.Target, s.Key)))
		}
	}
	for _, remote := range s.Unneeded {
		all = append(all, location(client.ObjectKeyFromObject(remote)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// targetOf is where the objects of another local namespace go: beside this one
// if it is at home there.
func (s Snapshot[T]) targetOf(namespace string) translate.Target {
	if namespace == s.Place.Local {
		return s.Place.Target
	}
	return s.Elsewhere(namespace)
}

// location is how an annotation says where a copy is.
func location(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}

// marking marks the local object, unless the consumer has just refused that: a
// webhook of its own may change more of it in the same request than policies allow.
func (c copies[T]) marking(s Snapshot[T]) Plan {
	if s.Refused != nil && s.Refused.Verb == Patch && s.Refused.In == "" && s.Refused.Wait > 0 {
		return Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	}
	return act(c.mark(s))
}

// mark writes label, annotation and finalizer in one patch. It is not locked to a
// version: several bindings mark one object at the same time, each with keys of
// its own, and the API server merges them.
func (c copies[T]) mark(s Snapshot[T]) Action {
	before, after := c.metadata(s.Local), c.metadata(s.Local)
	after.SetLabels(with(after.GetLabels(), v1alpha1.LabelSyncedTo+s.ClusterID, v1alpha1.SyncedToTrue))
	after.SetAnnotations(with(after.GetAnnotations(), v1alpha1.AnnotationRemote+s.ClusterID, strings.Join(c.locations(s), ",")))
	controllerutil.AddFinalizer(after, v1alpha1.FinalizerSync+s.ClusterID)
	return Action{Verb: Patch, Side: Local, Object: after, Before: before}
}

// unmark takes away what mark wrote, once there is no copy any more.
func (c copies[T]) unmark(s Snapshot[T]) Plan {
	return unmark(s.Local, s.ClusterID, c.metadata)
}

func unmark[T client.Object](local T, clusterID string, metadata func(T) T) Plan {
	before, after := metadata(local), metadata(local)
	if !Unmark(after, clusterID) {
		return Plan{}
	}
	return act(Action{Verb: Patch, Side: Local, Object: after, Before: before})
}

// Unmark takes label, annotation and finalizer of a clusterID off an object of
// the consumer, and tells whether there was any of them.
func Unmark(local client.Object, clusterID string) bool {
	labels, annotations := len(local.GetLabels()), len(local.GetAnnotations())
	local.SetLabels(without(local.GetLabels(), v1alpha1.LabelSyncedTo+clusterID))
	local.SetAnnotations(without(local.GetAnnotations(), v1alpha1.AnnotationRemote+clusterID))
	removed := controllerutil.RemoveFinalizer(local, v1alpha1.FinalizerSync+clusterID)
	return removed || len(local.GetLabels()) != labels || len(local.GetAnnotations()) != annotations
}

// metadata is an object that has the metadata of local and nothing else, so
// that a patch from one to another can be made without knowing the content.
func (c copies[T]) metadata(local T) T {
	obj := c.fresh()
	obj.SetNamespace(local.GetNamespace())
	obj.SetName(local.GetName())
	obj.SetUID(local.GetUID())
	obj.SetResourceVersion(local.GetResourceVersion())
	obj.SetDeletionTimestamp(local.GetDeletionTimestamp())
	obj.SetLabels(with(local.GetLabels()))
	obj.SetAnnotations(with(local.GetAnnotations()))
	obj.SetFinalizers(slices.Clone(local.GetFinalizers()))
	return obj
}

// with is a copy of a map with one more entry, or with none.
func with(all map[string]string, entry ...string) map[string]string {
	clone := make(map[string]string, len(all)+1)
	for key, value := range all {
		clone[key] = value
	}
	if len(entry) == 2 {
		clone[entry[0]] = entry[1]
	}
	return clone
}

func without(all map[string]string, key string) map[string]string {
	delete(all, key)
	return all
}

// String is for logs.
func (a Action) String() string {
	return fmt.Sprintf("%s %T %s in the %s", a.Verb, a.Object, client.ObjectKeyFromObject(a.Object), a.Side)
}
