package scenario

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// docs/troubleshooting.md: a missing right disables only the kind that needs it. Existing objects stay, and
// what needs an object of that kind waits.
var rightTakenAway = Scenario{
	Name: "right-taken-away", Prepare: all(withRightsOfItsOwn, note(world.P1, remotely(team, web))),
	Steps: []Step{{
		Name: "the right to read ConfigMaps is taken away, and all watches end",
		Do:   all(reading("get", "create", "patch", "delete"), endWatches),
		Until: all(bindingIs(v1alpha1.BindingLimited, metav1.ConditionTrue, v1alpha1.ReasonRightsMissing),
			bindingIs(v1alpha1.BindingConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected),
			noted(world.P1, remotely(team, web)), configMapIs("1", world.P1, remotely(team, settings))),
	}, {
		Name: "the ConfigMap is changed, and a pod is created that needs it",
		Do: all(change(world.Consumer, named(team, settings), func(_ *world.World, original *corev1.ConfigMap) { original.Data[key] = "2" }),
			func(ctx context.Context, w *world.World) error {
				return w.Create(ctx, using(world.Pod(team, second, world.P1), settings, ""))
			}),
		Until: all(podStaysHome(team, second, v1alpha1.ReasonRightsMissing), bindingIs(v1alpha1.BindingConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected),
			noted(world.P1, remotely(team, web)), configMapIs("1", world.P1, remotely(team, settings))),
	}, {
		Name: "the right is given back",
		Do:   reading("get", "list", "watch", "create", "patch", "delete"),
		Until: all(bound(world.P1), unlimited, configMapIs("2", world.P1, remotely(team, settings)), noted(world.P1, remotely(team, web)),
			podIs(corev1.PodRunning, team, web, world.P1), podIs(corev1.PodRunning, team, second, world.P1)),
	}},
}

// withRightsOfItsOwn is withObjects with an account that no other lane uses.
func withRightsOfItsOwn(ctx context.Context, w *world.World) error {
	name, admin := ownAccount(w), w.Cluster(world.P1).Admin
	rules, err := shippedRules(ctx, admin)
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: rig.ProviderNamespace, Name: name}}
	for _, object := range []client.Object{
		role,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: rig.ProviderNamespace, Name: name}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: rig.ProviderNamespace, Name: name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "spillway-consumer-leases"}},
	} { // They stay for the next run.
		if err := admin.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("making the account %s: %w", name, err)
		}
	}
	if err := reading(role.Rules[slices.IndexFunc(role.Rules, isOfConfigMaps)].Verbs...)(ctx, w); err != nil {
		return err
	}
	return bindAs(ctx, w, name)
}

// shippedRules returns the rules of the shipped roles, one for each resource.
func shippedRules(ctx context.Context, admin client.Client) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, of := range []string{"", "-services", "-endpointslices", "-networkpolicies", "-poddisruptionbudgets", "-ingresses", "-gatewayroutes"} {
		shipped := &rbacv1.ClusterRole{}
		if err := admin.Get(ctx, client.ObjectKey{Name: rig.ProviderServiceAccount + of}, shipped); err != nil {
			return nil, fmt.Errorf("reading a role that is shipped: %w", err)
		}
		for _, rule := range shipped.Rules {
			for _, resource := range rule.Resources {
				one := rule.DeepCopy()
				one.Resources = []string{resource}
				rules = append(rules, *one)
			}
		}
	}
	return rules, nil
}

// bindAs binds P1 with the credentials of an account, and runs a pod there that needs a ConfigMap and a
// Secret.
func bindAs(ctx context.Context, w *world.World, name string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: rig.ProviderNamespace, Name: name}}
	token := &authenticationv1.TokenRequest{}
	if err := w.Cluster(world.P1).Admin.SubResource("token").Create(ctx, account, token); err != nil {
		return fmt.Errorf("asking for a token of %s: %w", name, err)
	}
	err := w.Create(ctx, w.KubeconfigSecret(world.P1, withToken(w.Kubeconfig(world.P1), token.Status.Token)), &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: world.P1},
		Spec:       v1alpha1.ClusterBindingSpec{ClusterID: world.P1, KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: world.P1}},
	})
	if err != nil {
		return err
	}
	if err := eventually(ctx, w, bound(world.P1)); err != nil {
		return err
	}
	if err := w.Offload(ctx, team); err != nil {
		return err
	}
	if err := eventually(ctx, w, offloaded(team, world.P1)); err != nil {
		return err
	}
	return objectsIn(world.P1)(ctx, w)
}

func ownAccount(w *world.World) string { return "alone-" + w.ConsumerID }

func isOfConfigMaps(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Resources, "configmaps")
}

// reading sets the account's rights on ConfigMaps.
func reading(verbs ...string) Func {
	return change(world.P1, func(w *world.World) client.ObjectKey { return client.ObjectKey{Name: ownAccount(w)} },
		func(_ *world.World, role *rbacv1.ClusterRole) {
			role.Rules[slices.IndexFunc(role.Rules, isOfConfigMaps)].Verbs = verbs
		})
}

// endWatches resets all connections: a watch that has begun goes on even without the right to it.
func endWatches(_ context.Context, w *world.World) error {
	w.Proxy(world.P1).Reset()
	w.Proxy(world.P1).Heal()
	return nil
}

// unlimited wants P1's binding to report no missing right.
func unlimited(ctx context.Context, w *world.World) error {
	binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", world.P1)
	if err != nil {
		return err
	}
	return same("that a right is missing", meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingLimited) != nil, false)
}
