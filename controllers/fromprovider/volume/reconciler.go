package volume

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/act"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// reconciler shows the volumes of one provider. One object is reconciled at a time.
type reconciler struct {
	engine.Connection
	consumer client.Client
	// live reads from the consumer without a cache.
	live   client.Reader
	events events.EventRecorder
	// told has the last problem that the owner of each claim was told.
	told map[decide.Key]string
	// unclaimed has when a platform engineer was last told of a claim that nothing in the consumer stands for.
	unclaimed map[decide.Key]time.Time
	clock     clock.PassiveClock
	// pace limits the changes of each claim and its volume, by the UID of the claim.
	pace *throttle.Pacer
}

// Reconcile implements engine.Runner.
func (r *reconciler) Reconcile(ctx context.Context, key decide.Key) (ctrl.Result, error) {
	if r.Paused() || r.Provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.PersistentVolumeClaim{})).Reason != "" {
		return ctrl.Result{}, nil // Everything is enqueued when this changes.
	}
	// Before anything is read: a claim that a cache does not show yet would count as gone.
	if readable, err := r.readable(ctx, key); err != nil || !readable {
		return ctrl.Result{}, err // It is enqueued when both kinds can be read.
	}
	key = named(ctx, r.Provider.GetCache(), key)
	s, err := r.observe(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if s.volume == nil && s.unlabelled == nil && s.remote == nil {
		delete(r.told, key)
		delete(r.unclaimed, key)
		r.pace.Forget(string(key.UID))
		return ctrl.Result{}, nil
	}
	plan := decideVolume(s)
	if plan.problem != nil {
		r.tell(key, s.claim, plan.problem)
	}
	again, err := r.report(ctx, key, s.unclaimed(key))
	if err != nil || again > 0 {
		return ctrl.Result{RequeueAfter: again}, err
	}
	return r.write(ctx, key, s, plan)
}

// write carries out a plan, no faster than the claim's pace.
func (r *reconciler) write(ctx context.Context, key decide.Key, s snapshot, plan plan) (ctrl.Result, error) {
	if plan.after != nil || plan.status != nil || plan.labelled != nil { // A provider may change its mind as often as it likes.
		if wait := r.pace.Wait(string(key.UID)); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		r.pace.Wrote(string(key.UID))
	}
	if plan.confirms != nil {
		if current, err := isCurrent(ctx, r.live, plan.confirms); err != nil || !current {
			return ctrl.Result{}, err // A cache shows the change in a moment, and enqueues the claim.
		}
	}
	refused, err := r.act(ctx, s, plan)
	if refused != nil || err == nil { // A problem that was told is over only with a success.
		r.tell(key, s.claim, cmp.Or(plan.problem, refused))
	}
	return retry.Done(err)
}

// readable reports whether the caches show the provider's claims, and the consumer's volumes.
func (r *reconciler) readable(ctx context.Context, key decide.Key) (bool, error) {
	type who struct { // The view outlives the connection.
		of  *reconciler
		key decide.Key
	}
	again := func() { r.Enqueue(key) }
	there, err := informer.Need(ctx, r.Provider.GetCache(), &corev1.PersistentVolumeClaim{}, who{r, key}, again)
	if err != nil || !there {
		return false, err
	}
	return informer.Need(ctx, r.View, &corev1.PersistentVolume{}, who{r, key}, again)
}

// observe reads what is known about a claim.
func (r *reconciler) observe(ctx context.Context, key decide.Key) (snapshot, error) {
	s, err := r.observeShown(ctx, key)
	if err == nil && s.volume == nil {
		s.unlabelled, err = r.unlabelled(ctx, key.UID)
	}
	if err == nil && s.claim == nil && s.volume != nil && s.volume.Status.Phase != corev1.VolumeReleased {
		s.claim, err = claimOf(ctx, r.live, keyIn(s.volume, key)) // A claim that asks another provider may have lost its label.
	}
	if err == nil && s.mayCreate() { // What the volume says about the data lasts, so no cache is asked.
		s.class, err = classOf(ctx, r.live, s.claim)
	}
	return s, err
}

// observeShown reads what the caches of the connection show.
func (r *reconciler) observeShown(ctx context.Context, key decide.Key) (snapshot, error) {
	s := snapshot{clusterID: r.Mark.ClusterID}
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	err := r.View.Get(ctx, key.NamespacedName, claim)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return s, fmt.Errorf("getting PersistentVolumeClaim %s: %w", key.NamespacedName, err)
	case err == nil && claim.UID == key.UID:
		s.claim = claim
	}
	err = r.View.Get(ctx, client.ObjectKey{Name: nameOf(s.clusterID, key.UID)}, volume)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return s, fmt.Errorf("getting PersistentVolume %s: %w", nameOf(s.clusterID, key.UID), err)
	case err == nil && field.StandsForRemote(volume, s.clusterID):
		s.volume = volume
	}
	s.remote, err = r.remoteOf(ctx, key)
	if err == nil && s.remote != nil {
		class := r.Provider.Classes.All().Of(v1alpha1.ClassStorage, ptr.Deref(s.remote.Spec.StorageClassName, ""))
		if class.Presence == field.ClassThere {
			s.storage = &class.Storage
		}
	}
	return s, err
}

// classOf returns what the consumer's class of a claim says, or nil if there is no such class.
func classOf(ctx context.Context, live client.Reader, claim *corev1.PersistentVolumeClaim) (*field.Storage, error) {
	name, class := persistentvolumeclaim.StorageClass(claim), &storagev1.StorageClass{}
	if name == "" {
		return nil, nil
	}
	if err := live.Get(ctx, client.ObjectKey{Name: name}, class); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("getting StorageClass %s: %w", name, err)
	}
	storage := field.StorageOf(class)
	return &storage, nil
}

// remoteOf returns the provider's claim that holds the data of the consumer's claim, or nil.
func (r *reconciler) remoteOf(ctx context.Context, key decide.Key) (*corev1.PersistentVolumeClaim, error) {
	var all corev1.PersistentVolumeClaimList
	if err := r.Provider.GetCache().List(ctx, &all, client.MatchingFields{objects.FieldLocal: key.NamespacedName.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the claims of provider %s: %w", r.Mark.ClusterID, err)
	}
	for i := range all.Items {
		remote := &all.Items[i]
		if r.Mark.IsOn(remote) && field.HoldsData(remote) && provenance.LocalOf(remote).UID == key.UID {
			return remote, nil
		}
	}
	return nil, nil
}

// act carries out a plan. It returns what the owner of the claim should know about a refusal, too.
func (r *reconciler) act(ctx context.Context, s snapshot, plan plan) (*field.Problem, error) {
	var a decide.Action
	switch {
	case plan.labelled != nil:
		return nil, label(ctx, r.consumer, s.unlabelled, plan.labelled)
	case plan.create != nil:
		a = decide.Action{Verb: decide.Create, Object: plan.create}
	case plan.delete != nil:
		a = decide.Action{Verb: decide.Delete, Object: plan.delete, Locked: true}
	case plan.after != nil:
		a = decide.Action{Verb: decide.Patch, Object: plan.after, Before: s.volume, Locked: true}
	case plan.status != nil:
		a = decide.Action{Verb: decide.PatchStatus, Object: plan.status, Before: s.claim, Locked: true}
	default:
		return nil, nil
	}
	obj, ok := a.Object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", a.Object)
	}
	err := act.Send(ctx, r.consumer, obj, a)
	switch {
	case a.Verb == decide.Create && apierrors.IsAlreadyExists(err):
		return conflict(ctx, r.live, s, obj.GetName())
	case err != nil:
		failed := fmt.Errorf("to %s %T %s: %w", a.Verb, obj, obj.GetName(), err)
		if a.Verb == decide.Create && apierrors.IsForbidden(err) {
			return forbidden(obj.GetName(), err), failed
		}
		return nil, failed
	default:
		return nil, nil
	}
}

// conflict says that there is another volume of that name. Mostly it is the right one, and the cache does not show it
// yet. Its watch enqueues the claim.
func conflict(ctx context.Context, live client.Reader, s snapshot, name string) (*field.Problem, error) {
	there := &corev1.PersistentVolume{}
	if err := live.Get(ctx, client.ObjectKey{Name: name}, there); err != nil {
		return nil, fmt.Errorf("getting PersistentVolume %s: %w", name, err)
	}
	if field.StandsForRemote(there, s.clusterID) && persistentvolumeclaim.IsFor(there, s.claim.UID, s.remote) {
		return nil, nil
	}
	return field.Refuse(v1alpha1.ReasonNameConflict, "PersistentVolume %s exists already, and stands for another claim; if it is not Spillway's, delete it", name), nil
}

// forbidden says why a volume cannot be created. Policies and webhooks forbid, too, and no right helps against that.
func forbidden(name string, err error) *field.Problem {
	why := err.Error()
	if field.Denied(why) {
		return field.Refuse(v1alpha1.ReasonForbiddenHere, "PersistentVolume %s cannot be created: %s", name, why)
	}
	return field.Refuse(v1alpha1.ReasonRightsMissing, "PersistentVolume %s cannot be created: %s; the manager needs the ClusterRole spillway-volumes, which a platform engineer must bind", name, why)
}

// tell creates an event on the claim, unless the last one said the same.
func (r *reconciler) tell(key decide.Key, claim *corev1.PersistentVolumeClaim, problem *field.Problem) {
	switch {
	case problem == nil:
		delete(r.told, key)
	case claim != nil && r.told[key] != problem.Message:
		r.told[key] = problem.Message
		r.events.Eventf(claim, nil, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
	}
}
