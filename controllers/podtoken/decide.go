package podtoken

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/retry"
)

// longest is how long a token is valid at most, whatever an annotation in the provider says.
const longest = token.MostSeconds * time.Second

// snapshot is what a decision about the tokens of one pod depends on.
type snapshot struct {
	Now time.Time
	// Pod is the local pod, or nil.
	Pod *corev1.Pod
	// Granted are the tokens that the pod gets now.
	Granted []token.Wanted
	// Asked is the namespace in the provider where the pod is about to be sent, and where it has no Secret yet; "" if
	// nobody has asked.
	Asked string
	// Runs is the namespace in the provider with the remote pod that mounts the tokens; "" if there is none.
	Runs string
	// Places are the namespaces in the provider where the pod may be. Unknown: there may be others.
	Places  []string
	Unknown bool
	// Issued are the tokens of the pod that this process has requested last.
	Issued issued
	// Held are the Secrets with tokens of pods of that name.
	Held []*corev1.Secret
}

// plan is what to do, in order.
type plan struct {
	// Delete are Secrets that are not needed any more.
	Delete []*corev1.Secret
	// Issue is set to request all tokens of the pod. They replace those in Before, or go to a new Secret in the
	// namespace In.
	Issue  bool
	In     string
	Before *corev1.Secret
	// Again is how long until the next decision; zero: never.
	Again time.Duration
}

// decide decides about the tokens of one pod. A Secret is deleted with its pod, or when the pod has ended. A pod
// that no longer gets tokens keeps its Secret, whose tokens end within the hour. Nothing is decided before it is
// known where the pod may be.
func decide(s snapshot) plan {
	var p plan
	if s.Unknown {
		return p
	}
	in, live := cmp.Or(s.Runs, s.Asked), s.Pod != nil && !ended(s.Pod)
	current := p.sort(s, in, live)
	switch {
	case !live || len(s.Granted) == 0:
	case current == nil:
		p.Issue, p.In = in != "", in
	case !current.DeletionTimestamp.IsZero(): // It is replaced once it is gone.
	default:
		p.keep(s, current)
	}
	return p
}

// sort returns the Secret of the pod, if any, and deletes the others.
func (p *plan) sort(s snapshot, in string, live bool) (current *corev1.Secret) {
	for _, held := range s.Held {
		switch {
		case !slices.Contains(s.Places, held.Namespace): // Anybody in the provider can create one that looks the same.
		case live && isOf(held, s.Pod) && (in == "" || held.Namespace == in) && current == nil:
			current = held
		case held.DeletionTimestamp.IsZero():
			p.Delete = append(p.Delete, held)
		}
	}
	return current
}

// keep decides when to renew the tokens. Before the pod is in the provider, they are renewed only if the engine is
// about to send the pod. When they have expired by then, it is unlikely that the pod will be sent, so they are
// deleted.
func (p *plan) keep(s snapshot, current *corev1.Secret) {
	expires, renews := s.Issued.timesOf(current, s.Now)
	switch {
	case (s.Runs != "" || s.Asked != "") && !s.Now.Before(renews):
		p.Issue, p.In, p.Before = true, current.Namespace, current
	case s.Runs != "":
		p.Again = renews.Sub(s.Now)
	case s.Now.Before(expires):
		p.Again = expires.Sub(s.Now)
	default:
		p.Delete = append(p.Delete, current)
	}
}

// isRemoteOf reports whether a remote pod is the one that a local pod runs as, with its tokens. Once the local pod
// names the UID of the remote pod, no other pod counts.
func isRemoteOf(remote, local *corev1.Pod) bool {
	of := provenance.Local{Namespace: local.Namespace, Name: local.Name, UID: local.UID}
	known := provenance.RemoteOf(local)
	other := known.For == local.UID && known.UID != "" && known.UID != remote.UID
	return provenance.LocalOf(remote) == of && !other && token.Uses(&remote.Spec, local.UID)
}

// ended reports whether all containers of a pod have ended for good.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// isOf reports whether a Secret has the tokens of a pod, and not of an earlier pod of its name.
func isOf(held *corev1.Secret, pod *corev1.Pod) bool {
	return held.Name == field.TokenSecretName(pod.UID) && provenance.LocalOf(held).UID == pod.UID
}

// timesOf returns when the tokens in a Secret expire, and when they are renewed, by its annotations. A provider
// can write these. So the times are never later than Spillway could have set them. Unreadable ones have passed.
func timesOf(held *corev1.Secret, now time.Time) (expires, renews time.Time) {
	read := func(key string, most time.Time) time.Time {
		at, err := time.Parse(time.RFC3339, held.Annotations[key])
		if err != nil || at.After(most) {
			return now
		}
		return at
	}
	expires = read(v1alpha1.AnnotationTokenExpires, now.Add(longest))
	return expires, read(v1alpha1.AnnotationTokenRenews, expires)
}

// renewal returns when to renew tokens: after 80 % of their life, or up to 10 % of their life earlier. That
// differs by pod, so that pods that were created together do not renew their tokens together.
func renewal(pod types.UID, issued, expires time.Time) time.Time {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod))
	life := expires.Sub(issued)
	return issued.Add(life*4/5 - life/10*time.Duration(hash.Sum32()%1000)/1000)
}

// warning is what the owner of a running pod should know about its tokens.
type warning struct {
	// about tells one warning from another: the owner is told once about the same tokens.
	about string
	// says is what has become of the tokens. The reason follows.
	says string
}

// warningOf returns the warning about a running pod that lacks tokens, or whose tokens should have been renewed and
// end soon. Otherwise it returns in how long it will do so; zero: never.
func warningOf(s snapshot, p plan, clusterID string) (warning, time.Duration) {
	switch {
	case s.Runs == "" || !p.Issue:
		return warning{}, 0
	case p.Before == nil:
		return warning{"gone, until " + s.Issued.expires.UTC().Format(time.RFC3339),
			"the pod in provider " + clusterID + " has lost the Secret with its API tokens: "}, 0
	}
	expires, renews := s.Issued.timesOf(p.Before, s.Now)
	if left := renews.Add(expires.Sub(renews) / 4).Sub(s.Now); left > 0 {
		return warning{}, left
	}
	about := p.Before.Annotations[v1alpha1.AnnotationTokenExpires]
	return warning{about, "the API tokens of the pod in provider " + clusterID + " end at " + about + " and could not be renewed: "}, 0
}

// The first and the longest time between two attempts to get the same tokens.
const (
	firstRetry = 5 * time.Second
	mostRetry  = 5 * time.Minute
)

// after returns when to try again after so many failures in a row.
func after(failures int) time.Duration {
	wait := firstRetry << min(failures, 10)
	return retry.Sooner(wait, mostRetry)
}
