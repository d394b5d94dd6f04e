package unbind

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
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// Volumes are the claims whose volumes providers have created.
type Volumes []corev1.PersistentVolumeClaim

// ReadVolumes reads these claims. They are only for the output, so the missing right to read them is no error.
func ReadVolumes(ctx context.Context, consumer client.Client, in ...client.ListOption) (Volumes, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := consumer.List(ctx, claims, in...); err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("reading the claims whose volumes are in providers: %w", err)
	}
	return claims.Items, nil
}

// In returns the names of a namespace's claims that have their volume in a provider. The volume of a pod's ephemeral claim goes
// with the pod.
func (v Volumes) In(clusterID, namespace string) []string {
	var names []string
	for i := range v {
		owner := metav1.GetControllerOf(&v[i])
		if v[i].Namespace == namespace && field.ProviderOfVolume(&v[i]) == clusterID && (owner == nil || owner.Kind != "Pod") {
			names = append(names, v[i].Name)
		}
	}
	return names
}

// hold reports whether a pod uses a volume of a provider.
func (v Volumes) hold(pod *corev1.Pod, clusterID string) bool {
	there := v.In(clusterID, pod.Namespace)
	return slices.ContainsFunc(needs.Claims(pod), func(name string) bool { return slices.Contains(there, name) })
}

// Keep changes the step of a remote namespace that is not deleted before somebody decides about its volumes. by is the
// NamespaceOffloading or the ClusterBinding, which may say already that they may be lost.
func (v Volumes) Keep(step cli.Step, clusterID, namespace string, by metav1.Object) cli.Step {
	claims := v.In(clusterID, namespace)
	if step.Action != deleted || len(claims) == 0 || by.GetAnnotations()[v1alpha1.AnnotationLoseVolumes] == v1alpha1.LoseVolumes {
		return step
	}
	step.Action = kept
	step.Message = "in " + clusterID + ", until somebody decides about the volumes of its claims " + text.Few(claims, mostClaims) + ": docs/operations.md, volumes that a provider creates"
	return step
}

// mostClaims is how many claims a message names.
const mostClaims = 5

// foreseen returns what goes with a binding, as far as it does so by itself: what has volumes stays until somebody decides.
func foreseen(ctx context.Context, consumer *cli.Cluster, binding *v1alpha1.ClusterBinding) ([]cli.Step, error) {
	steps, err := losses(ctx, consumer, binding)
	if err != nil {
		return nil, err
	}
	volumes, err := ReadVolumes(ctx, consumer)
	if err != nil {
		return nil, err
	}
	namespaces := &v1alpha1.NamespaceMap{}
	if err := consumer.Get(ctx, client.ObjectKey{Name: binding.Name}, namespaces); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading NamespaceMap %s, which has the remote namespaces: %w", binding.Name, err)
	}
	keepVolumes(steps, binding, namespaces, volumes)
	return steps, nil
}

// keepVolumes does so for the remote namespaces of a binding.
func keepVolumes(steps []cli.Step, binding *v1alpha1.ClusterBinding, namespaces *v1alpha1.NamespaceMap, volumes Volumes) {
	for i := range steps {
		remote, is := strings.CutPrefix(steps[i].Object, "namespace/")
		for _, mapped := range namespaces.Status.CurrentMapping {
			if is && mapped.RemoteNamespace == remote {
				steps[i] = volumes.Keep(steps[i], binding.Spec.ClusterID, mapped.Namespace, binding)
			}
		}
	}
}
