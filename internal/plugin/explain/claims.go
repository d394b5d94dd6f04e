package explain

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// claims reads the claims of a pod that has not started yet.
func claims(ctx context.Context, consumer client.Client, pod *corev1.Pod) ([]Claim, error) {
	if pod.Status.Phase != corev1.PodPending {
		return nil, nil
	}
	var all []Claim
	for _, name := range needs.Claims(pod) {
		claim, hidden, err := optional(ctx, consumer, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})
		if err != nil {
			return nil, err
		}
		if hidden {
			continue
		}
		one := Claim{Name: name}
		if claim != nil {
			one.Phase, one.Provider = cmp.Or(claim.Status.Phase, corev1.ClaimPending), field.ProviderOfVolume(claim)
			if pod.Spec.NodeName == "" && one.Provider != "" {
				one.Cordoned = cordoned(ctx, consumer, one.Provider)
			}
			if one.Events, err = events(ctx, consumer, pod.Namespace, client.MatchingFields{"involvedObject.uid": string(claim.UID)}); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// cordoned reports whether all virtual nodes of a provider are cordoned, as far as the user may see them.
func cordoned(ctx context.Context, consumer client.Client, clusterID string) bool {
	nodes := &corev1.NodeList{}
	if err := consumer.List(ctx, nodes, client.MatchingLabels{v1alpha1.LabelCluster: clusterID}); err != nil {
		return false
	}
	return len(nodes.Items) > 0 && !slices.ContainsFunc(nodes.Items, func(node corev1.Node) bool { return !node.Spec.Unschedulable })
}

// volumes says in which provider the claims of a pod without a node have their volumes.
func volumes(claims []Claim, bindings placement.Index) []string {
	var all []string
	for _, claim := range claims {
		if claim.Provider == "" {
			continue
		}
		text := "its claim " + claim.Name + " has its volume in provider " + claim.Provider + ", so it can run only there"
		if claim.Cordoned {
			text += "; the virtual nodes of that provider are cordoned, and take no new pods until a platform engineer uncordons them: kubectl spillway uncordon " + cmp.Or(bindings.Holder(claim.Provider), "NAME") // Teams may not read bindings.
		}
		all = append(all, text)
	}
	return all
}

// claims returns the claims that may hold up a pod that has not started: they are not bound, or an event warns about their
// volume. What kept a bound claim from getting one is over.
func (s Seen) claims() []status.Wait {
	if s.Pod.Status.Phase != corev1.PodPending {
		return nil
	}
	var waits []status.Wait
	for _, claim := range s.Claims {
		kind := "PersistentVolumeClaim " + claim.Name
		event := status.Latest(claim.Events, func(e *corev1.Event) bool {
			return status.Warns(e) && (claim.Phase != corev1.ClaimBound || aboutData(e))
		})
		if event == nil && claim.Phase != corev1.ClaimBound {
			event = status.Latest(claim.Events, func(*corev1.Event) bool { return true })
		}
		switch {
		case claim.Phase == "":
			waits = append(waits, status.Wait{Type: kind, Reason: "NotFound"})
		case event != nil:
			waits = append(waits, status.NewWait(kind+" "+string(claim.Phase), event.Reason, event.Message))
		case claim.Phase != corev1.ClaimBound:
			waits = append(waits, status.Wait{Type: kind, Reason: string(claim.Phase), Message: "it is not bound to a volume"})
		}
	}
	return waits
}

// aboutData reports whether an event is about the volume that a claim has.
func aboutData(e *corev1.Event) bool {
	return e.Reason == v1alpha1.ReasonVolumeLost || e.Reason == v1alpha1.ReasonVolumeTooSmall
}
