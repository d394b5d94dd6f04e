package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/test/faults/world"
)

// account is the ServiceAccount whose pods get tokens.
const account = "controller"

// Whatever happens to the manager, a pod has one Secret with tokens in the provider, as long as it lives.
var tokenLife = Scenario{
	Name: "token-life", Prepare: granting(world.P1),
	Steps: []Step{{
		Name: "a pod that uses the consumer's API is created",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, usingAPI(world.Pod(team, web, world.P1)))
		},
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), hasTokens(1)),
	}, {
		Name:  "the pod is deleted",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: all(podGone(team, web, world.P1), hasTokens(0)),
	}},
}

// If somebody deletes its Secret, it gets another one. The manager has seen the first one: a Secret that comes and goes
// while a watch is down is missed only half a minute later.
var tokensDeleted = Scenario{
	Name: "tokens-deleted", Prepare: withTokens,
	Steps: []Step{{
		Name:  "somebody in the provider deletes its tokens",
		Do:    deleteTokens,
		Until: all(hasTokens(1), otherTokens),
	}},
}

// withTokens makes a pod run with tokens.
func withTokens(ctx context.Context, w *world.World) error {
	if err := granting(world.P1)(ctx, w); err != nil {
		return err
	}
	if err := w.Create(ctx, usingAPI(world.Pod(team, web, world.P1))); err != nil {
		return err
	}
	return eventually(ctx, w, all(podIs(corev1.PodRunning, team, web, world.P1), hasTokens(1), noteTokens))
}

// granting binds a provider and offloads the team's namespace, with all that pods of the account need to get tokens.
func granting(provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := w.Bind(ctx, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.ConsumerAPI = v1alpha1.ConsumerAPI{Host: "localhost", Port: 6443}
		}, provider); err != nil {
			return err
		}
		if err := w.Offload(ctx, team); err != nil {
			return err
		}
		if err := change(world.Consumer, named(team, v1alpha1.OffloadingName), func(_ *world.World, nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.APIAccess.ServiceAccounts = []v1alpha1.ServiceAccountName{account}
		})(ctx, w); err != nil {
			return err
		}
		for _, object := range []client.Object{
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: account}},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "spillway-pod-tokens"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-pod-tokens"},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: managerNamespace, Name: "spillway-manager"}},
			},
		} {
			// Nobody removes these with their namespace: an earlier run may have left them.
			if err := w.Consumer.Admin.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating %T: %w", object, err)
			}
		}
		return eventually(ctx, w, all(bound(provider), offloaded(team, provider)))
	}
}

// usingAPI makes a pod ask for a token, as Kubernetes' admission does.
func usingAPI(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.ServiceAccountName = account
	pod.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-12345", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
	}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access-12345", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	return pod
}

// tokensOf returns the Secrets with tokens in the remote namespace.
func tokensOf(ctx context.Context, w *world.World) ([]corev1.Secret, error) {
	var all corev1.SecretList
	err := w.Cluster(world.P1).Admin.List(ctx, &all, client.InNamespace(w.Remote(team)))
	var found []corev1.Secret
	for i := range all.Items {
		if field.IsTokenSecretName(all.Items[i].Name) {
			found = append(found, all.Items[i])
		}
	}
	return found, err
}

// hasTokens wants that many Secrets with tokens, each for the pod, and with a token.
func hasTokens(count int) Func {
	return func(ctx context.Context, w *world.World) error {
		found, err := tokensOf(ctx, w)
		if err != nil || len(found) != count || count == 0 {
			return wrap("Secrets with tokens", err, same("their number", len(found), count))
		}
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, web)
		if err != nil {
			return err
		}
		return wrap("the Secret with tokens", same("its name", found[0].Name, field.TokenSecretName(pod.UID)), same("that it stays", found[0].DeletionTimestamp.IsZero(), true),
			same("that it has a token", len(found[0].Data["token"]) > 0, true))
	}
}

// noteTokens remembers the Secret, and otherTokens wants another one.
func noteTokens(ctx context.Context, w *world.World) error {
	found, err := tokensOf(ctx, w)
	if err != nil || len(found) == 0 {
		return wrap("Secrets with tokens", err, same("their number", len(found), 1))
	}
	w.Notes["tokens"] = string(found[0].UID)
	return nil
}

func otherTokens(ctx context.Context, w *world.World) error {
	found, err := tokensOf(ctx, w)
	if err != nil || len(found) == 0 {
		return wrap("Secrets with tokens", err, same("their number", len(found), 1))
	}
	return same("that it is another Secret", string(found[0].UID) != w.Notes["tokens"], true)
}

func deleteTokens(ctx context.Context, w *world.World) error {
	found, err := tokensOf(ctx, w)
	for i := range found {
		if err := w.Cluster(world.P1).Admin.Delete(ctx, &found[i]); err != nil {
			return fmt.Errorf("deleting Secret %s: %w", found[i].Name, err)
		}
	}
	return err
}
