package namespaceoffloading

import (
	"fmt"
	"strings"
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/retry"
)

const (
	// maxWhys limits what the message says about why remote namespaces are left. The rest is for their names. Each
	// provider has the same share.
	maxWhys = 600
	// minWhy is the smallest share. A shorter text would tell nothing.
	minWhy = 40
)

// remaining says what is left in each provider that the deletion waits for: pods, volumes, or only the remote
// namespace.
func remaining(s Snapshot) (evicting, volumes, left, unreachable []string) {
	for _, c := range s.Clusters {
		switch {
		case c.released(s):
		case c.keepsVolumes(s) && c.Pods.Count == 0:
			volumes = append(volumes, c.ClusterID+": "+c.RemoteNamespace+": "+c.whyKept())
		case c.Unreachable != "":
			unreachable = append(unreachable, c.ClusterID+": "+c.Unreachable+c.withRemaining())
		case c.Pods.Count > 0:
			evicting = append(evicting, c.ClusterID+": "+c.Pods.String()+refusals(c.Pods))
		default:
			left = append(left, c.ClusterID+": "+c.RemoteNamespace+c.whyRemaining(maxWhys/len(s.Clusters)))
		}
	}
	return evicting, volumes, left, unreachable
}

// deletionStep names what the deletion waits for. Pods come first.
func (s Snapshot) deletionStep() (reason, message string) {
	evicting, volumes, left, unreachable := remaining(s)
	waits, _ := s.waits()
	switch {
	case waits:
		waiting := "evicting pods that wait for a virtual node, so that their controllers recreate them: " + s.Waiting.Recreated.String() + refusals(s.Waiting.Recreated)
		if len(evicting) > 0 {
			waiting += "; evicting pods from virtual nodes: " + strings.Join(evicting, "; ")
		}
		return v1alpha1.ReasonEvictingPods, waiting
	case len(evicting) > 0:
		return v1alpha1.ReasonEvictingPods, "evicting pods from virtual nodes: " + strings.Join(append(evicting, unreachable...), "; ")
	case len(volumes) > 0:
		return v1alpha1.ReasonVolumesRemain, strings.Join(append(volumes, append(left, unreachable...)...), "; ")
	case len(left) > 0:
		return v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: " + strings.Join(append(left, unreachable...), "; ")
	case len(unreachable) > 0:
		return v1alpha1.ReasonProviderUnreachable, "the deletion waits for providers that cannot be reached: " + strings.Join(unreachable, "; ")
	case len(LeftBehind(s)) > 0:
		return s.giveUpReason(), "deletionTimeout has passed; left in providers: " + strings.Join(LeftBehind(s), "; ")
	default:
		return v1alpha1.ReasonDeletingNamespaces, "all remote namespaces are gone"
	}
}

// StrandedMessage says that pods wait forever, and what helps.
func StrandedMessage(pods eviction.Remaining) string {
	wait := "wait"
	if pods.Count == 1 {
		wait = "waits"
	}
	return fmt.Sprintf("%s %s for a virtual node that the namespace no longer uses, and no known controller recreates them: delete them", pods, wait)
}

// withRemaining says what is left at a provider, if that is known.
func (c Cluster) withRemaining() string {
	if !c.mayBeRequested() {
		return c.withPods()
	}
	left := ", with remote namespace " + c.RemoteNamespace
	if c.Pods.Count == 0 {
		return left + " left"
	}
	return left + " and " + strings.TrimPrefix(c.withPods(), ", with ")
}

// whyRemaining says in at most that many characters why the remote namespace still exists, if that is known.
func (c Cluster) whyRemaining(most int) string {
	if why := namespacemap.WhyRemaining(c.Current); why != "" && most >= minWhy {
		return " (" + text.Bound(why, most) + ")"
	}
	return ""
}

// whyKept says which volumes keep the remote namespace.
func (c Cluster) whyKept() string {
	if c.Current != nil {
		return c.Current.Message
	}
	return namespacemap.VolumesForgotten(c.Recorded)
}

// mayBeRequested reports whether the provider was, or may have been, asked for the remote namespace.
func (c Cluster) mayBeRequested() bool { return c.Desired || c.Current != nil || len(c.Recorded) > 0 }

// withPods says which pods are left at a provider.
func (c Cluster) withPods() string {
	if c.Pods.Count == 0 {
		return ""
	}
	return fmt.Sprintf(", with %s left%s", c.Pods, refusals(c.Pods))
}

func refusals(left eviction.Remaining) string {
	if refusals := left.Refusals(); refusals != "" {
		return ", and " + refusals
	}
	return ""
}

// giveUpReason returns the reason why something stays: the provider does not answer, or does not finish a deletion.
func (s Snapshot) giveUpReason() string {
	for _, c := range s.Clusters {
		if c.Unreachable != "" {
			return v1alpha1.ReasonProviderUnreachable
		}
	}
	return v1alpha1.ReasonDeletingNamespaces
}

// released reports whether a deletion need not wait for the provider, because nothing is left there or the
// timeout has passed.
func (c Cluster) released(s Snapshot) bool {
	if !c.mayBeRequested() && c.Pods.Count == 0 || c.left(s) {
		return true
	}
	return c.timed(s) && !s.Now.Before(s.Offloading.DeletionTimestamp.Add(c.DeletionTimeout))
}

// timed reports whether deletionTimeout applies. It does if the provider does not answer, has not deleted the
// remote namespace after a request, or never reported whether it created one. While the provider answers, the
// deletion waits without a limit for pods that a budget holds or that have not ended.
func (c Cluster) timed(s Snapshot) bool {
	hangs := c.Current != nil && c.Current.Phase == v1alpha1.MappingTerminating && !c.Desired || c.Current == nil && c.Desired
	return c.DeletionTimeout > 0 && !c.keepsVolumes(s) && (c.Unreachable != "" || hangs && c.Pods.Count == 0)
}

// keepsVolumes reports whether the remote namespace stays because of the volumes in it. No timeout gives up data, also
// not while the provider is away.
func (c Cluster) keepsVolumes(s Snapshot) bool {
	remain := c.Current != nil && c.Current.Reason == v1alpha1.ReasonVolumesRemain
	return (remain || c.Current == nil && len(c.Recorded) > 0) && !namespacemap.LosesVolumes(s.Offloading)
}

// left reports whether the owner of the offloading leaves the remote namespace with its volumes in the provider.
func (c Cluster) left(s Snapshot) bool {
	return c.keepsVolumes(s) && c.Pods.Count == 0 && s.Offloading.Annotations[v1alpha1.AnnotationKeepVolumes] == v1alpha1.KeepVolumes
}

// waits reports whether a deletion waits until pods without a node are evicted, and for how long at most;
// zero: forever. The pods may go to any provider, so the longest deletionTimeout counts.
func (s Snapshot) waits() (bool, time.Duration) {
	if s.Waiting.Recreated.Count == 0 {
		return false, 0
	}
	var timeout time.Duration
	for _, c := range s.Clusters {
		timeout = max(timeout, c.DeletionTimeout)
	}
	if timeout == 0 {
		return true, 0
	}
	left := s.Offloading.DeletionTimestamp.Add(timeout).Sub(s.Now)
	return left > 0, left
}

// GivenUp says what a finished deletion leaves because deletionTimeout has passed; "" if nothing.
func GivenUp(s Snapshot) string {
	var all []string
	if s.Waiting.Recreated.Count > 0 {
		all = append(all, "pods that wait for a virtual node and cannot be evicted: "+s.Waiting.Recreated.String()+refusals(s.Waiting.Recreated))
	}
	if left := LeftBehind(s); len(left) > 0 {
		all = append(all, "remote namespaces left until their provider deletes them: "+strings.Join(left, "; "))
	}
	return strings.Join(all, "; ")
}

// LeftBehind names the remote namespaces that a finished deletion leaves although nobody has asked for that, with their
// providers.
func LeftBehind(s Snapshot) []string {
	var left []string
	for _, c := range s.Clusters {
		if !c.left(s) && (c.mayBeRequested() || c.Pods.Count > 0) {
			left = append(left, c.ClusterID+": "+c.RemoteNamespace+c.withPods())
		}
	}
	return left
}

// Removable reports whether a deletion is finished, so that the finalizer can be removed. If not, it returns
// when a timeout is due; zero: never.
func Removable(s Snapshot) (bool, time.Duration) {
	waits, again := s.waits()
	removable := !waits
	for _, c := range s.Clusters {
		if c.released(s) {
			continue
		}
		removable = false
		if c.timed(s) {
			again = retry.Sooner(again, s.Offloading.DeletionTimestamp.Add(c.DeletionTimeout).Sub(s.Now))
		}
	}
	return removable, again
}
