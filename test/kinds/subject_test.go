package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/samples"
)

// subject is a sample that somebody has created.
type subject struct {
	*stage
	samples.Sample[client.Object]
	namespace, name string
	// key is the key of the local object, and uid is its UID at creation.
	key client.ObjectKey
	uid types.UID
}

// create creates a sample of the kind.
func (s *stage) create(ctx context.Context, namespace, name string) (*subject, error) {
	u := &subject{stage: s, Sample: s.sample(namespace, name, v1alpha1.VirtualNodePrefix+world.P1), namespace: namespace, name: name}
	u.key = client.ObjectKeyFromObject(u.Object)
	err := s.Create(ctx, u.all()...)
	u.uid = u.Object.GetUID()
	return u, err
}

// createSent creates a sample, and waits until it is sent.
func (s *stage) createSent(ctx context.Context, namespace, name string) (*subject, client.Object, error) {
	u, err := s.create(ctx, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	remote, err := u.sent(ctx)
	return u, remote, err
}

// all returns the objects of the sample, its main object first.
func (u *subject) all() []client.Object {
	return append([]client.Object{u.Object}, u.With...)
}

// local returns the local object as it is now.
func (u *subject) local(ctx context.Context) (client.Object, error) {
	local := u.kind.New()
	return local, u.here().Get(ctx, u.key, local)
}

// mark is the mark of every object that the manager creates in the provider.
func (s *stage) mark() provenance.Mark { return provenance.Mark{Origin: s.Origin, ClusterID: world.P1} }

// remotes returns all objects of the kind in the provider that are the consumer's.
func (s *stage) remotes(ctx context.Context) ([]client.Object, error) {
	gvk, err := apiutil.GVKForObject(s.kind.New(), s.there().Scheme())
	if err != nil {
		return nil, err
	}
	empty, err := s.there().Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list, ok := empty.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is no list", empty)
	}
	if err := s.there().List(ctx, list, client.MatchingLabelsSelector{Selector: s.mark().Selector()}); err != nil {
		return nil, err
	}
	var all []client.Object
	return all, meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", item)
		}
		all = append(all, object)
		return nil
	})
}

// standIns returns the remote objects that represent the local object, or for an earlier one with its name.
func (u *subject) standIns(ctx context.Context) ([]client.Object, error) {
	all, err := u.remotes(ctx)
	return slices.DeleteFunc(all, func(remote client.Object) bool {
		stands := provenance.LocalOf(remote)
		return stands.Namespace != u.key.Namespace || stands.Name != u.key.Name
	}), err
}

// sent waits until exactly one object in the provider represents the local one, and returns it. That object
// must show what the local one shows. If the kind records the remote object on the local one, the record must
// be there.
func (u *subject) sent(ctx context.Context) (client.Object, error) {
	var remote client.Object
	return remote, u.eventually(ctx, fmt.Sprintf("%s %s to be sent", u.kind.Name, u.key), func(ctx context.Context) error {
		var err error
		remote, err = u.isSent(ctx)
		return err
	})
}

func (u *subject) isSent(ctx context.Context) (client.Object, error) {
	local, err := u.local(ctx)
	if err != nil {
		return nil, err
	}
	remotes, err := u.standIns(ctx)
	if err != nil {
		return nil, err
	}
	if len(remotes) != 1 {
		return nil, fmt.Errorf("%d objects of the provider stand for it; it is %s", len(remotes), brief(local))
	}
	remote := remotes[0]
	errs := []error{
		same("the UID that it stands for", provenance.LocalOf(remote).UID, local.GetUID()),
		same("that it stays", remote.GetDeletionTimestamp().IsZero(), true),
		same("what it shows", u.Shows(remote), u.Shows(local)),
	}
	if u.Reported != nil {
		errs = append(errs, same("what is reported here", u.Reported(local), u.Reported(remote)))
	}
	if u.kind.Scope == kind.ScopeNamespaced {
		errs = append(errs, same("its namespace", remote.GetNamespace(), u.Remote(u.namespace)))
	}
	switch {
	case u.kind.Selection.ClusterWide():
		annotations := local.GetAnnotations()
		delete(annotations, v1alpha1.AnnotationAddressesPrefix+world.P1) // It is a part of what is reported.
		errs = append(errs, notMarked(local))
	case !u.kind.Selection.Protects():
		errs = append(errs, same("the UID that is recorded", provenance.RemoteOf(local).UID, remote.GetUID()))
	default:
		errs = append(errs,
			same("the label of the local object", local.GetLabels()[v1alpha1.LabelSyncedTo+world.P1], v1alpha1.SyncedToTrue),
			same("the annotation of the local object", local.GetAnnotations()[v1alpha1.AnnotationRemote+world.P1], field.Location(client.ObjectKeyFromObject(remote))),
			same("the finalizer of the local object", slices.Contains(local.GetFinalizers(), v1alpha1.FinalizerSync+world.P1), true))
	}
	return remote, errors.Join(errs...)
}

// delete deletes all objects of the sample.
func (u *subject) delete(ctx context.Context) error {
	for _, object := range u.all() {
		if err := client.IgnoreNotFound(u.here().Delete(ctx, object)); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes all objects of the sample, and waits until nothing of it is left.
func (u *subject) remove(ctx context.Context) error {
	if err := u.delete(ctx); err != nil {
		return err
	}
	return u.gone(ctx, u.all()...)
}

// gone waits until local objects are gone, and nothing in the provider stands for the sample's main object.
func (u *subject) gone(ctx context.Context, objects ...client.Object) error {
	return u.eventually(ctx, fmt.Sprintf("%s %s to be gone on both sides", u.kind.Name, u.key), func(ctx context.Context) error {
		for _, object := range objects {
			object = object.DeepCopyObject().(client.Object)
			err := u.here().Get(ctx, client.ObjectKeyFromObject(object), object)
			if err == nil {
				return fmt.Errorf("%T %s is there: %s", object, object.GetName(), brief(object))
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
		return u.nothingThere(ctx)
	})
}

// nothingThere returns an error if an object in the provider stands for the local object.
func (u *subject) nothingThere(ctx context.Context) error {
	remotes, err := u.standIns(ctx)
	if err == nil && len(remotes) > 0 {
		return fmt.Errorf("in the provider there is %s", brief(remotes[0]))
	}
	return err
}

// change changes an object of a cluster.
func change(ctx context.Context, c client.Client, object client.Object, by func(client.Object)) error {
	before := object.DeepCopyObject().(client.Object)
	by(object)
	if err := c.Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing %s: %w", object.GetName(), err)
	}
	return nil
}

// changeStatus changes the status of an object, if its kind has one.
func changeStatus(ctx context.Context, c client.Client, object client.Object, by func(client.Object)) error {
	before := object.DeepCopyObject().(client.Object)
	by(object)
	return client.IgnoreNotFound(c.Status().Patch(ctx, object, client.MergeFrom(before)))
}

// told returns an error unless a condition or an event of an object of the sample shows the reason.
func (u *subject) told(ctx context.Context, reason string) error {
	var events corev1.EventList
	if err := u.here().List(ctx, &events); err != nil {
		return err
	}
	for _, object := range u.all() {
		is := object.DeepCopyObject().(client.Object)
		if err := u.here().Get(ctx, client.ObjectKeyFromObject(object), is); err != nil {
			return err
		}
		if strings.Contains(asJSON(is), `"reason":"`+reason+`"`) {
			return nil
		}
		if slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.UID == is.GetUID() && e.Reason == reason }) {
			return nil
		}
	}
	return fmt.Errorf("no condition and no event has the reason %s", reason)
}

// unmarked returns an error unless a copied local object is as its owner created it, and a local object that
// is not copied is gone.
func (u *subject) unmarked(ctx context.Context) error {
	local, err := u.local(ctx)
	if !u.kind.Selection.Copies() {
		if err == nil {
			return fmt.Errorf("it is there: %s", brief(local))
		}
		return client.IgnoreNotFound(err)
	}
	if err != nil {
		return err
	}
	return notMarked(local)
}

// notMarked returns an error if a local object has one of our marks.
func notMarked(local client.Object) error {
	marks := slices.Clone(local.GetFinalizers())
	for _, keys := range []map[string]string{local.GetLabels(), local.GetAnnotations()} {
		for key := range keys {
			marks = append(marks, key)
		}
	}
	marks = slices.DeleteFunc(marks, func(mark string) bool { return !strings.Contains(mark, v1alpha1.Domain) })
	if len(marks) > 0 {
		return fmt.Errorf("it is marked still: %v", marks)
	}
	return nil
}

func asJSON(object client.Object) string {
	object.SetManagedFields(nil)
	raw, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// brief returns an object as one line of a report.
func brief(object client.Object) string {
	const most = 1500
	text := asJSON(object.DeepCopyObject().(client.Object))
	return text[:min(len(text), most)]
}

// same returns an error unless two values are equal.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, wanted %v", what, got, want)
	}
	return nil
}
