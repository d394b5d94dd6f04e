package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/dial"
	"github.com/spillway-io/spillway/hosted/state"
)

// report writes the conditions. Each has one writer, and Ready summarises the others.
func (v *visit) report() {
	v.identity()
	switch v.phase {
	case state.Paused:
	case state.Duplicate:
		v.synced()
	default:
		v.credentials()
		v.synced()
		v.updating()
	}
	v.ready()
}

// identity sets what the columns of kubectl show.
func (o *object) identity() {
	s := &o.h.Status
	upstream := s.UpstreamSpec
	switch spec := o.h.Spec; {
	case spec.EKSConfig != nil:
		s.Cloud, s.Location = "EKS", spec.EKSConfig.Region
		if upstream.EKSConfig != nil {
			s.KubernetesVersion = value(upstream.EKSConfig.KubernetesVersion)
		}
	case spec.AKSConfig != nil:
		s.Cloud, s.Location = "AKS", spec.AKSConfig.ResourceLocation
		if upstream.AKSConfig != nil {
			s.KubernetesVersion = value(upstream.AKSConfig.KubernetesVersion)
		}
	case spec.GKEConfig != nil:
		s.Cloud, s.Location = "GKE", cmp.Or(value(spec.GKEConfig.Region), value(spec.GKEConfig.Zone))
		if upstream.GKEConfig != nil {
			s.KubernetesVersion = value(upstream.GKEConfig.KubernetesVersion)
		}
	}
}

// credentials sets CredentialsValid. It is True once the cloud has answered. An error that says nothing about
// the credentials leaves the condition as it is.
func (v *visit) credentials() {
	set := func(status metav1.ConditionStatus, reason, message string) {
		v.set(v1alpha1.HostedCredentialsValid, status, reason, message)
	}
	forbidden := v.refused(func(op v1alpha1.Operation) bool { return op.Reason == v1alpha1.ReasonRightMissing })
	switch err := v.failure; {
	case errors.Is(err, dial.ErrSecret):
		set(metav1.ConditionFalse, v1alpha1.ReasonSecretUnusable, err.Error())
	case errors.Is(err, cloud.ErrCredentials):
		set(metav1.ConditionFalse, v1alpha1.ReasonRejected, err.Error())
	case errors.Is(err, cloud.ErrForbidden):
		set(metav1.ConditionFalse, v1alpha1.ReasonRightMissing, err.Error())
	case forbidden != "":
		// The right to read is there, and one to change is not.
		set(metav1.ConditionFalse, v1alpha1.ReasonRightMissing, forbidden)
	case v.retries(v1alpha1.ReasonRightMissing):
		// The right was missing the last time, and there is no answer yet.
	case err == nil:
		set(metav1.ConditionTrue, v1alpha1.ReasonAccepted, "")
	case v.missing(v1alpha1.HostedCredentialsValid):
		set(metav1.ConditionUnknown, v1alpha1.ReasonRequestFailed, err.Error())
	}
}

func (v *visit) synced() {
	set := func(status metav1.ConditionStatus, reason, message string) {
		v.set(v1alpha1.HostedSynced, status, reason, message)
	}
	switch err := v.failure; {
	case errors.Is(err, errInvalid):
		set(metav1.ConditionFalse, v1alpha1.ReasonInvalid, err.Error())
	case errors.Is(err, cloud.ErrThrottled):
		set(metav1.ConditionFalse, v1alpha1.ReasonThrottled, err.Error())
	case err != nil:
		set(metav1.ConditionFalse, v1alpha1.ReasonRequestFailed, err.Error())
	case v.phase == state.NotFound:
		set(metav1.ConditionFalse, v1alpha1.ReasonNotFound, "The cloud does not have the cluster. If it was deleted there, delete this object, too")
	case v.phase == state.Replaced:
		set(metav1.ConditionFalse, v1alpha1.ReasonReplaced, fmt.Sprintf(
			"The cluster was deleted in the cloud, and recreated with the same name (%s, not %s). To adopt the new one, delete this object with deletionPolicy Orphan, and create it again",
			v.seen.Reading.UID, v.h.Status.UpstreamUID))
	case v.phase == state.Duplicate:
		set(metav1.ConditionFalse, v1alpha1.ReasonDuplicate, fmt.Sprintf(
			"HostedCluster %s already manages the same cluster. Until that one is deleted, this one sends and adopts nothing", v.seen.Twin))
	case v.phase == state.AlreadyExists:
		set(metav1.ConditionFalse, v1alpha1.ReasonAlreadyExists, fmt.Sprintf(
			"The cloud has a cluster of this name that was not created for this object: it lacks %s. It is not changed. To manage it, set lifecycle.mode to Adopt", mark(v.h)))
	case v.phase == state.Incomplete:
		set(metav1.ConditionFalse, v1alpha1.ReasonIncomplete, "Part of the cluster could not be read, so nothing is changed")
	case !v.seen.Missing:
		set(metav1.ConditionTrue, v1alpha1.ReasonRead, "")
	}
}

// updating says who changes the cluster. While the cluster cannot be read, the condition stays as it is.
func (v *visit) updating() {
	set := func(status metav1.ConditionStatus, reason, message string) {
		v.set(v1alpha1.HostedUpdating, status, reason, message)
	}
	var calls []string
	for _, op := range v.h.Status.AllInFlight() {
		calls = append(calls, strings.TrimSpace(op.Call+" "+op.Item))
	}
	doing := v.seen.Reading.Doing()
	switch v.shown() {
	case state.Creating:
		set(metav1.ConditionTrue, v1alpha1.ReasonCreating, doing)
	case state.Deleting:
		set(metav1.ConditionTrue, v1alpha1.ReasonDeleting, doing)
	case state.Writing:
		set(metav1.ConditionTrue, v1alpha1.ReasonSending, strings.Join(calls, ", "))
	case state.Waiting:
		set(metav1.ConditionTrue, v1alpha1.ReasonWaiting, cmp.Or(strings.Join(calls, ", "), doing))
	case state.ForeignUpdate:
		set(metav1.ConditionTrue, v1alpha1.ReasonForeignUpdate, doing)
	case "", state.Incomplete:
	default:
		reason, refused := v1alpha1.ReasonIdle, v.refused(anyRefusal)
		switch {
		case v.refused(func(op v1alpha1.Operation) bool { return op.Reason != v1alpha1.ReasonBusy }) != "":
			reason = v1alpha1.ReasonUpdateFailed
		case refused != "":
			reason = v1alpha1.ReasonBusy
		}
		set(metav1.ConditionFalse, reason, refused)
	}
}

// retries reports whether a request is sent again that was refused for this reason.
func (v *visit) retries(reason string) bool {
	return slices.ContainsFunc(v.h.Status.AllInFlight(), func(op v1alpha1.Operation) bool { return op.Reason == reason })
}

func anyRefusal(v1alpha1.Operation) bool { return true }

// refused describes the requests that were refused.
func (v *visit) refused(is func(v1alpha1.Operation) bool) string {
	var parts []string
	for _, op := range v.h.Status.Operations {
		if op.Message != "" && is(op) {
			parts = append(parts, strings.TrimSpace(op.Call+" "+op.Item)+": "+op.Message)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func (v *visit) ready() {
	set := func(status metav1.ConditionStatus, reason, message string) {
		v.set(v1alpha1.HostedReady, status, reason, message)
	}
	switch v.phase {
	case state.Paused:
		set(metav1.ConditionFalse, v1alpha1.ReasonPaused, "spec.paused is set: nothing is read or changed in the cloud, and only the binding's token is renewed")
		return
	case state.Creating:
		set(metav1.ConditionFalse, v1alpha1.ReasonCreating, v.seen.Reading.Doing())
		return
	case state.Deleting:
		set(metav1.ConditionFalse, v1alpha1.ReasonDeleting, v.deleting())
		return
	}
	if v.phase == state.NotMarked {
		set(metav1.ConditionFalse, v1alpha1.ReasonNotMarked, fmt.Sprintf(
			"The cluster and this object are kept: deletionPolicy Delete is only for a cluster created for this object, and this one lacks %s. "+
				"To keep the cluster, set deletionPolicy to Orphan. To delete it, add that to it in the cloud", mark(v.h)))
		return
	}
	if v.phase == state.Failed && v.seen.Missing {
		set(metav1.ConditionFalse, v1alpha1.ReasonUpdateFailed, v.refused(anyRefusal))
		return
	}
	for _, kind := range []string{v1alpha1.HostedCredentialsValid, v1alpha1.HostedSynced} {
		if c := meta.FindStatusCondition(v.h.Status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			set(metav1.ConditionFalse, c.Reason, c.Message)
			return
		}
	}
	if unhealthy := v.seen.Reading.Unhealthy(); unhealthy != "" {
		set(metav1.ConditionFalse, v1alpha1.ReasonUnhealthy, unhealthy)
		return
	}
	set(metav1.ConditionTrue, v1alpha1.ReasonRuns, "")
}

// deleting says what a deletion waits for.
func (v *visit) deleting() string {
	parts := []string{v.seen.Reading.Doing(), v.seen.Reading.Unhealthy(), v.unanswered()}
	if v.failure != nil {
		parts = append(parts, v.failure.Error())
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// unanswered says what a deletion waits for, if the cluster may still appear.
func (v *visit) unanswered() string {
	if !v.seen.Unanswered() {
		return ""
	}
	until := v.h.Status.InFlight().StartedAt.Add(state.CreateShows).UTC().Format(time.RFC3339)
	return "The cluster was requested, but the cloud does not list it yet. If it does by " + until + ", it is deleted, and then this object"
}

var errInvalid = errors.New("the configuration is invalid")

// invalid keeps an error for the report. The error is about what was read, so retrying at once would not help.
func (v *visit) invalid(err error) error {
	v.failure = fmt.Errorf("%w: %w", errInvalid, err)
	return nil
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
