package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// object is the HostedCluster of one reconcile. It is changed in memory, and then written to the API server.
type object struct {
	api    client.Client
	events events.EventRecorder
	h      *v1alpha1.HostedCluster
	// stored is the object as the API server has it.
	stored *v1alpha1.HostedCluster
	now    time.Time
}

// hold adds the finalizer before anything is done in the cloud.
func (o *object) hold(ctx context.Context) error {
	if !o.h.DeletionTimestamp.IsZero() || !controllerutil.AddFinalizer(o.h, v1alpha1.FinalizerHosted) {
		return nil
	}
	patch := client.MergeFromWithOptions(o.stored, client.MergeFromWithOptimisticLock{})
	if err := o.api.Patch(ctx, o.h, patch); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	o.stored = o.h.DeepCopy()
	return nil
}

// letGo removes the finalizer.
func (o *object) letGo(ctx context.Context) error {
	if !controllerutil.RemoveFinalizer(o.h, v1alpha1.FinalizerHosted) {
		return nil
	}
	patch := client.MergeFromWithOptions(o.stored, client.MergeFromWithOptimisticLock{})
	if err := o.api.Patch(ctx, o.h, patch); err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}

// store writes the status if it has changed, unless somebody has changed the object since it was read. It also
// emits an event for each new decision.
func (o *object) store(ctx context.Context) error {
	if equality.Semantic.DeepEqual(o.h.Status, o.stored.Status) {
		return nil
	}
	decided := o.h.Status.Decisions
	old := o.stored.Status.Decisions
	if err := o.api.Status().Update(ctx, o.h); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	for _, d := range decided {
		if !slices.ContainsFunc(old, func(o v1alpha1.Decision) bool { return o.Path == d.Path && o.Time.Unix() == d.Time.Unix() }) {
			o.event(corev1.EventTypeWarning, "Overwritten", "Sync", "%s", overwritten(d))
		}
	}
	o.stored = o.h.DeepCopy()
	return nil
}

// overwritten describes a decision. It does not quote user data, which may have secrets: more people can read events
// than HostedClusters.
func overwritten(d v1alpha1.Decision) string {
	if strings.HasSuffix(d.Path, ".userData") {
		return fmt.Sprintf("%s: %s wins; the other value is overwritten. status.decisions has both", d.Path, holder[d.Take])
	}
	return fmt.Sprintf("%s: %s wins with %s; %s is overwritten", d.Path, holder[d.Take], d.Kept, d.Lost)
}

var holder = map[v1alpha1.Side]string{v1alpha1.SideSpec: "the spec", v1alpha1.SideUpstream: "the cloud"}

// writeSpec replaces the configuration in the spec, unless somebody has changed the object.
func (o *object) writeSpec(ctx context.Context, config v1alpha1.ClusterConfig) error {
	status := o.h.Status
	o.h.Spec.ClusterConfig = config
	if err := o.api.Update(ctx, o.h); err != nil {
		return fmt.Errorf("writing the spec: %w", err)
	}
	o.stored = o.h.DeepCopy()
	o.h.Status = status
	return nil
}

func (o *object) event(kind, reason, action, note string, args ...any) {
	o.events.Eventf(o.h, nil, kind, reason, action, "%s", conditions.Note(fmt.Sprintf(note, args...)))
}

// set writes a condition, with the time of our clock.
func (o *object) set(kind string, status metav1.ConditionStatus, reason, message string) {
	c := conditions.New(kind, status, reason, message)
	c.LastTransitionTime = metav1.NewTime(o.now)
	conditions.Set(&o.h.Status.Conditions, o.h.Generation, c)
}

func (o *object) missing(kind string) bool {
	return meta.FindStatusCondition(o.h.Status.Conditions, kind) == nil
}

// lasted returns how long ago the last of these conditions changed.
func (o *object) lasted(kinds ...string) time.Duration {
	var last time.Time
	for _, c := range o.h.Status.Conditions {
		if slices.Contains(kinds, c.Type) && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return o.now.Sub(last)
}
