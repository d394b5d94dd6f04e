package binding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/bind"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// rig has a HostedCluster in EKS, and the Binder with the shipped rights.
type rig struct {
	*testing.T
	binder *bind.Binder
	clock  *testclock.FakePassiveClock
	h      *hosted.HostedCluster
	source cloud.Source
}

func newRig(t *testing.T, name string) *rig {
	t.Helper()
	binder, err := bind.New(operator(t), managerNamespace)
	if err != nil {
		t.Fatal(err)
	}
	h := &hosted.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
	h.Spec.EKSConfig = &hosted.EKSConfig{DisplayName: name, Region: "eu-central-1"}
	h.Spec.Binding = &hosted.Binding{ClusterID: name}
	h.Status.UpstreamSpec.EKSConfig = &hosted.EKSConfig{KubernetesVersion: ptr.To("1.33")}
	clock := testclock.NewFakePassiveClock(time.Now())
	binder.Clock = clock
	return &rig{t, binder, clock, h, source(t, name)}
}

// bind calls the Binder, which must report that reason.
func (r *rig) bind(reason string) *metav1.Condition {
	r.Helper()
	bound, _, err := r.binder.Bind(r.Context(), r.h, r.source)
	if err != nil || bound == nil || bound.Reason != reason {
		r.Fatalf("got %+v, %v, want the reason %s", bound, err, reason)
	}
	return bound
}

func (r *rig) unbind(gone, want bool) {
	r.Helper()
	if _, done, err := r.binder.Unbind(r.Context(), r.h, r.source, gone); err != nil || done != want {
		r.Fatalf("done: %v, %v, want %v", done, err, want)
	}
}

// both returns the ClusterBinding and the Secret; nil if they do not exist.
func (r *rig) both() (*v1alpha1.ClusterBinding, *corev1.Secret) {
	r.Helper()
	binding, secret := &v1alpha1.ClusterBinding{}, &corev1.Secret{}
	err := consumer.Get(r.Context(), client.ObjectKey{Name: r.h.Name}, binding)
	if apierrors.IsNotFound(err) {
		binding, err = nil, nil
	}
	if err != nil {
		r.Fatal(err)
	}
	err = consumer.Get(r.Context(), client.ObjectKey{Namespace: managerNamespace, Name: "hosted-" + r.h.Name}, secret)
	if apierrors.IsNotFound(err) {
		secret, err = nil, nil
	}
	if err != nil {
		r.Fatal(err)
	}
	return binding, secret
}

func (r *rig) change(object client.Object, change func()) {
	r.Helper()
	before := object.DeepCopyObject().(client.Object)
	change()
	if err := consumer.Patch(r.Context(), object, client.MergeFrom(before)); err != nil {
		r.Fatal(err)
	}
}

// as returns a client with the kubeconfig in the Secret.
func (r *rig) as(secret *corev1.Secret) client.Client {
	r.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[v1alpha1.DefaultKubeconfigKey])
	if err != nil {
		r.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// TestBinding binds a cluster, renews its token, and unbinds it.
func TestBinding(t *testing.T) {
	r := newRig(t, "shop")
	r.bind(hosted.ReasonBound)
	binding, secret := r.both()
	if binding == nil || binding.Spec.ClusterID != "shop" || binding.Spec.KubeconfigSecretRef.Name != secret.Name || binding.Labels[hosted.LabelCloud] != "eks" ||
		binding.Labels[hosted.LabelVersion] != "1.33" || binding.Spec.VirtualNode.Labels["topology.kubernetes.io/region"] != "eu-central-1" {
		t.Errorf("got %+v", binding)
	}
	r.leastPrivilege(secret)

	asks := tokens.Asked.Load()
	r.bind(hosted.ReasonBound)
	if again, same := r.both(); again.ResourceVersion != binding.ResourceVersion || same.ResourceVersion != secret.ResourceVersion || tokens.Asked.Load() != asks {
		t.Error("nothing is due, and something was written or asked for")
	}

	limits := &corev1.ConfigMap{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: v1alpha1.LimitsName}, limits); err != nil {
		t.Fatal(err)
	}
	limits.Data["tolerationKeys"] = "example.com/batch"
	if err := cluster.Update(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
	r.change(binding, func() {
		binding.Spec.Paused = true
		delete(binding.Spec.VirtualNode.Labels, hosted.LabelCloud)
	})
	r.clock.SetTime(r.clock.Now().Add(31 * time.Minute))
	r.bind(hosted.ReasonBound)
	binding, renewed := r.both()
	if bytes.Equal(renewed.Data["kubeconfig"], secret.Data["kubeconfig"]) || !binding.Spec.Paused || binding.Spec.VirtualNode.Labels[hosted.LabelCloud] != "eks" {
		t.Errorf("the token is not renewed, or %+v", binding.Spec)
	}
	r.leastPrivilege(renewed)

	logs := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "spillway-consumer-logs"}}
	exec := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "spillway-consumer-exec"}}
	if err := errors.Join(cluster.Get(t.Context(), client.ObjectKeyFromObject(exec), exec), cluster.Delete(t.Context(), logs)); err != nil {
		t.Fatal(err)
	}
	exec.Subjects = nil
	if err := cluster.Update(t.Context(), exec); err != nil {
		t.Fatal(err)
	}

	// Other manifests, of a later version. What the provider's administrator has set or removed stays so.
	// What somebody else has changed is applied again.
	r.change(renewed, func() { renewed.Annotations[hosted.AnnotationPrepared] = "of an older version" })
	r.bind(hosted.ReasonBound)
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(limits), limits); err != nil || limits.Data["tolerationKeys"] != "example.com/batch" {
		t.Errorf("the limits are %v, %v", limits.Data, err)
	}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(logs), logs); !apierrors.IsNotFound(err) {
		t.Errorf("the right to read logs has come back: %v", err)
	}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(exec), exec); err != nil || len(exec.Subjects) != 1 {
		t.Errorf("the right to run commands is of %v, %v", exec.Subjects, err)
	}
	if err := cluster.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: logs.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: logs.Name}}); err != nil {
		t.Fatal(err)
	}

	// The manager keeps the binding until everything is removed.
	r.change(binding, func() { binding.Finalizers = []string{v1alpha1.FinalizerBinding} })
	r.unbind(false, false)
	r.h.Spec.Binding = nil
	r.bind(hosted.ReasonUnbinding)
	binding, secret = r.both()
	if binding.DeletionTimestamp.IsZero() || secret == nil || binding.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDrain {
		t.Errorf("got %+v, %v", binding, secret)
	}
	r.clock.SetTime(r.clock.Now().Add(31 * time.Minute))
	r.bind(hosted.ReasonUnbinding)
	if _, kept := r.both(); bytes.Equal(kept.Data["kubeconfig"], secret.Data["kubeconfig"]) {
		t.Error("the token expires while the binding is taken back")
	}
	r.change(binding, func() { binding.Finalizers = nil })
	r.unbind(false, true)
	if binding, secret := r.both(); binding != nil || secret != nil {
		t.Errorf("left are %v, %v", binding, secret)
	}
	if bound, _, err := r.binder.Bind(t.Context(), r.h, r.source); bound != nil || err != nil {
		t.Errorf("got %v, %v, want no condition", bound, err)
	}
}

// leastPrivilege checks that the Secret has only a consumer's rights, and no token of the cloud.
func (r *rig) leastPrivilege(secret *corev1.Secret) {
	r.Helper()
	content, err := json.Marshal(secret)
	if err != nil || bytes.Contains(content, []byte("k8s-aws-v1")) || strings.Contains(string(secret.Data["kubeconfig"]), "k8s-aws-v1") {
		r.Errorf("the cloud's token is stored: %v", err)
	}
	there := r.as(secret)
	review := &authenticationv1.SelfSubjectReview{}
	if err := there.Create(r.Context(), review); err != nil || review.Status.UserInfo.Username != "system:serviceaccount:spillway-provider:spillway-consumer" {
		r.Errorf("it is of %q, %v", review.Status.UserInfo.Username, err)
	}
	// An API server applies a role a moment after the write.
	if err := wait.PollUntilContextTimeout(r.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := there.List(ctx, &corev1.PodList{})
		return err == nil, ignoreForbidden(err)
	}); err != nil {
		r.Error(err)
	}
	for what, of := range map[string]authorizationv1.ResourceAttributes{
		"tokens":       {Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: v1alpha1.ProviderNamespace},
		"clusterroles": {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		"everything":   {Verb: "*", Group: "*", Resource: "*"},
	} {
		may := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &of}}
		if err := there.Create(r.Context(), may); err != nil || may.Status.Allowed {
			r.Errorf("%s: allowed %v, %v", what, may.Status.Allowed, err)
		}
	}
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// TestKeeping: if a cluster cannot be read, its token is still renewed, in the same place, and nothing else
// happens.
func TestKeeping(t *testing.T) {
	r := newRig(t, "kept")
	keep := func(reason string) *metav1.Condition {
		t.Helper()
		bound, again, err := r.binder.Keep(t.Context(), r.h, r.source)
		if err != nil || bound == nil || bound.Reason != reason || again > 30*time.Minute {
			t.Fatalf("got %+v, %s, %v, want the reason %s", bound, again, err, reason)
		}
		return bound
	}
	keep(hosted.ReasonNoAccess)
	if binding, secret := r.both(); binding != nil || secret != nil {
		t.Errorf("got %v, %v", binding, secret)
	}
	r.bind(hosted.ReasonBound)
	_, secret := r.both()
	prepared := "older." + strings.SplitN(secret.Annotations[hosted.AnnotationPrepared], ".", 2)[1]
	r.change(secret, func() { secret.Annotations[hosted.AnnotationPrepared] = prepared })
	keep(hosted.ReasonBound)
	r.clock.SetTime(r.clock.Now().Add(31 * time.Minute))
	keep(hosted.ReasonBound)
	_, renewed := r.both()
	if bytes.Equal(renewed.Data["kubeconfig"], secret.Data["kubeconfig"]) || renewed.Annotations[hosted.AnnotationPrepared] != prepared {
		t.Errorf("the token is not renewed, or more than that is done: %v", renewed.Annotations)
	}
	r.change(renewed, func() { renewed.Annotations[hosted.AnnotationPrepared] = "older.elsewhere" })
	r.clock.SetTime(r.clock.Now().Add(31 * time.Minute))
	if bound := keep(hosted.ReasonNoAccess); !strings.Contains(bound.Message, "new address") {
		t.Errorf("it says %s", bound.Message)
	}
	if _, same := r.both(); same.ResourceVersion != renewed.ResourceVersion {
		t.Error("the token of another cluster is used")
	}
}

// TestForgetting: the operator does not wait for a cluster that is gone.
func TestForgetting(t *testing.T) {
	r := newRig(t, "gone")
	r.bind(hosted.ReasonBound)
	binding, _ := r.both()
	r.change(binding, func() { binding.Finalizers = []string{v1alpha1.FinalizerBinding} })
	r.source = nil
	r.unbind(true, false)
	if binding, _ = r.both(); binding.Spec.DeletionPolicy != v1alpha1.DeletionPolicyOrphan || binding.DeletionTimestamp.IsZero() {
		t.Errorf("got %+v", binding)
	}
	r.change(binding, func() { binding.Finalizers = nil })
	r.unbind(true, true)
}

// TestTheNameIsTaken: the operator leaves alone what was not created for the HostedCluster.
func TestTheNameIsTaken(t *testing.T) {
	r := newRig(t, "taken")
	theirs := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "taken"}, Spec: v1alpha1.ClusterBindingSpec{
		ClusterID: "taken", KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: "theirs"}}}
	if err := consumer.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	r.bind(hosted.ReasonNameTaken)
	r.unbind(false, true)
	if binding, secret := r.both(); binding == nil || binding.ResourceVersion != theirs.ResourceVersion || secret != nil {
		t.Errorf("got %+v, %v", binding, secret)
	}
}

// TestNoAccess: a refusal of the cluster is reported in the same words each time, without the token. A valid
// token stays.
func TestNoAccess(t *testing.T) {
	r := newRig(t, "refused")
	tokens.Refused.Store(true)
	defer tokens.Refused.Store(false)
	first := r.bind(hosted.ReasonNoAccess)
	if again := r.bind(hosted.ReasonNoAccess); again.Message != first.Message || !strings.Contains(first.Message, "401") || strings.Contains(first.Message, "k8s-aws") {
		t.Errorf("it says %q, and then %q", first.Message, again.Message)
	}
	if binding, secret := r.both(); binding != nil || secret != nil {
		t.Errorf("got %v, %v", binding, secret)
	}
	tokens.Refused.Store(false)
	r.bind(hosted.ReasonBound)
	_, secret := r.both()
	tokens.Refused.Store(true)
	r.clock.SetTime(r.clock.Now().Add(31 * time.Minute))
	r.bind(hosted.ReasonNoAccess)
	if _, kept := r.both(); kept.ResourceVersion != secret.ResourceVersion {
		t.Error("the Secret was changed")
	}
	r.source = nil
	if bound := r.bind(hosted.ReasonNoAccess); bound.Message != bind.ErrNoSource.Error() {
		t.Errorf("it says %q", bound.Message)
	}
}
