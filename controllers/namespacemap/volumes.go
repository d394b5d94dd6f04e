package namespacemap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/retry"
)

// A claim whose volume the provider has created goes with its namespace, and the data with it. So the provider
// is asked just before the deletion of a remote namespace, whether or not this manager creates volumes: caches may
// lag, another manager may have created them, and the consumer may have forgotten such a claim, for example because
// it was restored from a backup.

// volumesIn says which volumes the deletion of a remote namespace would lose, and what the user can do. It returns
// "" if there are none, or if their loss is allowed.
func volumesIn(ctx context.Context, a *executor, d namespacemap.Delete) (string, error) {
	if losesVolumes(ctx, a, a.Live, d) {
		return "", nil
	}
	recorded := func() ([]string, error) {
		return inventory.RemoteClaims(ctx, a.Inventory, a.binding.Spec.ClusterID, d.RemoteNamespace)
	}
	claims, err := claimsIn(ctx, a.provider.GetAPIReader(), d.RemoteNamespace, a.mark.Origin, recorded)
	switch {
	case apierrors.IsForbidden(err):
		return unlisted(ctx, a)
	case err != nil:
		return "", fmt.Errorf("listing the claims in namespace %s of provider %s: %w", d.RemoteNamespace, a.binding.Spec.ClusterID, err)
	}
	return namespacemap.VolumesRemain(namespacemap.WithData(claims)), nil
}

// claimsIn lists all claims in a remote namespace. The provider's authorizers may let a consumer list only what carries
// its origin (config/provider/authorization.yaml): they answer anything else with Forbidden, or with a server error of
// their own. After any other error the list with the origin proves nothing. It lacks claims that have lost their labels,
// so those that the consumer has recorded are read by their names.
func claimsIn(ctx context.Context, provider client.Reader, namespace, origin string, recorded func() ([]string, error)) ([]corev1.PersistentVolumeClaim, error) {
	var claims corev1.PersistentVolumeClaimList
	err := provider.List(ctx, &claims, client.InNamespace(namespace))
	if !withheld(err) {
		return claims.Items, err
	}
	if err := provider.List(ctx, &claims, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelOrigin: origin}); err != nil {
		return nil, err
	}
	names, err := recorded()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if slices.ContainsFunc(claims.Items, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == name }) {
			continue
		}
		hidden := corev1.PersistentVolumeClaim{}
		switch err := provider.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &hidden); {
		case apierrors.IsNotFound(err):
			continue
		case withheld(err): // For all that is known, it is there, and has its volume.
			hidden = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "unknown"}}
		case err != nil:
			return nil, err
		}
		claims.Items = append(claims.Items, hidden)
	}
	return claims.Items, nil
}

// withheld reports whether a provider has not answered because it does not show that to the consumer.
func withheld(err error) bool { return apierrors.IsForbidden(err) || byAuthorizer(err) }

// byAuthorizer reports whether an API server's error (500) is that an authorizer did not answer. It sends this as text,
// before it reads anything. All other errors are objects of the kind Status.
func byAuthorizer(err error) bool {
	cause, is := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	return is && retry.IsServerError(err) && strings.HasPrefix(cause.Message, `Internal Server Error: "/api/v1/namespaces/`)
}

// unanswered notes that a remote namespace is not deleted because the provider does not say which volumes it has.
func unanswered(a *executor, d namespacemap.Delete, err error) {
	outcome := namespacemap.Outcome{Phase: v1alpha1.MappingAccepted, Reason: v1alpha1.ReasonNamespaceActive}
	if retry.IsServerError(err) { // No timeout gives the volumes up, so the reason is that of volumes.
		outcome = namespacemap.Outcome{
			Phase: v1alpha1.MappingTerminating, Reason: v1alpha1.ReasonVolumesRemain,
			Message: "the remote namespace is not deleted, because it is not known whether it has volumes: " + text.Clean(err.Error()),
		}
	}
	a.note(d.Namespace, d.RemoteNamespace, outcome)
	a.failed(err)
}

// unlisted says why a remote namespace stays whose claims the provider does not let the manager list. It may have
// let it create some earlier. It returns "" if nothing says that it did: no StorageClass is mapped, and the consumer
// has no volume that stands for one there.
func unlisted(ctx context.Context, a *executor) (string, error) {
	known, err := inventory.Volumes(ctx, a.Inventory, a.binding.Spec.ClusterID)
	if err != nil || len(known) == 0 && !field.Classes(a.binding.Spec.Classes).Maps(v1alpha1.ClassStorage) {
		return "", err
	}
	return namespacemap.VolumesUnknown(), nil
}

// losesVolumes reports whether the volumes in a remote namespace may be lost: its offloading, or the binding, is being
// deleted, and says so. The offloading of a later namespace of that name has no say.
func losesVolumes(ctx context.Context, a *executor, from client.Reader, d namespacemap.Delete) bool {
	binding := &v1alpha1.ClusterBinding{}
	if err := from.Get(ctx, client.ObjectKeyFromObject(a.binding), binding); err == nil && binding.UID == a.binding.UID && namespacemap.LosesVolumes(binding) {
		return true
	}
	nso := &v1alpha1.NamespaceOffloading{}
	err := from.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: v1alpha1.OffloadingName}, nso)
	if d.Namespace == "" || err != nil || !namespacemap.LosesVolumes(nso) {
		return false
	}
	earlier, err := a.ofEarlier(ctx, d)
	return err == nil && !earlier
}
