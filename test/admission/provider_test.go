package admission

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// The tests TestConsumer… check the rights of a consumer's identity in a provider against the manifests that
// the provider's administrator applies. They act as that identity, or as the administrator where needed.

// podSecurity is the label with which a namespace enforces a pod security standard.
const podSecurity = "pod-security.kubernetes.io/enforce"

// shippedAccount is the account from config/provider.
const shippedAccount = "spillway-consumer"

// inProvider returns a client with that account.
func inProvider(t *testing.T) client.Client {
	t.Helper()
	return server(t).consumer(t, shippedAccount)
}

// untilConsumerIsConfined waits until the policies for consumers are in effect.
func untilConsumerIsConfined(ctx context.Context, s *apiServer) error {
	consumer, err := s.account(v1alpha1.ProviderNamespace, shippedAccount)
	if err != nil {
		return err
	}
	// The name matches those that authorization.yaml allows the consumer.
	marked := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe-demo", Labels: held(mark())}}
	if err := s.Create(ctx, marked); err != nil {
		return err
	}
	inMarked, elsewhere := metav1.ObjectMeta{Namespace: marked.Name, Name: "probe", Labels: mark()}, metav1.ObjectMeta{Namespace: "default", Name: "unmarked"}
	commanding := map[string]string{"example.com/probe": "x"}
	pod, plain, claim, route := podOf(elsewhere), &corev1.ConfigMap{ObjectMeta: elsewhere}, claimOf(inMarked, volumeName), ingressOf(elsewhere)
	volume := volumeOf(metav1.ObjectMeta{Name: "probe-0123456789abcdef0123456789abcdef", Labels: markOf(shippedAccount)})
	unmarked := volumeOf(metav1.ObjectMeta{Name: "unmarked"})
	if err := errors.Join(s.Create(ctx, pod), s.Create(ctx, plain), s.Create(ctx, claim), s.Create(ctx, route), s.Create(ctx, volume), s.Create(ctx, unmarked)); err != nil {
		return err
	}
	const command = `{"metadata":{"annotations":{"example.com/probe":"x"}}}`
	return untilConfined(ctx, map[string]func(context.Context) error{
		by("spillway-consumers", ""):               creating(consumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-probe", Labels: held(mark())}}),
		by("spillway-consumers", "-unmarked"):      creating(consumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}),
		by("spillway-consumers", "-existing"):      deleting(consumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "spillway-provider"}}),
		by("spillway-consumers-pods", ""):          creating(consumer, podOf(inMarked, tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}))),
		by("spillway-consumers-pods", "-unmarked"): creating(consumer, podOf(elsewhere)),
		by("spillway-consumers-pods", "-existing"): deleting(consumer, pod),
		by("spillway-consumers-objects", ""): creating(consumer, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: marked.Name, Name: "probe", Labels: mark(), Annotations: commanding,
		}}),
		by("spillway-consumers-objects", "-unmarked"): creating(consumer, &corev1.Secret{ObjectMeta: elsewhere}),
		by("spillway-consumers-objects", "-existing"): deleting(consumer, plain),
		by("spillway-consumers-objects", "-claims"):   patching(consumer, claim, command),
		by("spillway-consumers-routes", ""):           creating(consumer, ingressOf(inMarked, func(s *networkingv1.IngressSpec) { s.IngressClassName = ptr.To("other") })),
		by("spillway-consumers-routes", "-unmarked"):  creating(consumer, ingressOf(elsewhere)),
		by("spillway-consumers-routes", "-existing"):  deleting(consumer, route),
		by("spillway-consumers-volumes", ""): creating(consumer, volumeOf(metav1.ObjectMeta{
			Name: volumeName, Labels: markOf(shippedAccount), Annotations: commanding,
		})),
		by("spillway-consumers-volumes", "-unmarked"): creating(consumer, volumeOf(metav1.ObjectMeta{Name: "probe"})),
		by("spillway-consumers-volumes", "-existing"): deleting(consumer, unmarked),
		by("spillway-consumers-volumes", "-limits"):   patching(consumer, volume, command),
		by("spillway-consumers-leases", ""):           creating(consumer, leaseOf(nil)),
	})
}

// by returns a policy with one of its bindings, as a refusal names them.
func by(policy, binding string) string {
	return policy + "' with binding '" + policy + binding
}

// refused checks that err is a refusal that contains want, or nil if want is empty.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one that is Forbidden and says %q", err, want)
	}
}

// says reports whether err is a refusal that contains want, or nil if want is empty.
func says(err error, want string) bool {
	if want == "" {
		return err == nil
	}
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), want)
}

// mark returns the mark of one consumer and binding, for the shipped account.
func mark() map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway, v1alpha1.LabelOrigin: "origin", v1alpha1.LabelBinding: "eu",
		v1alpha1.LabelAccount: shippedAccount,
	}
}

// markBut is mark with another value of one label, or without the label if value is empty.
func markBut(key, value string) map[string]string {
	labels := mark()
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	return labels
}

// enforcing is mark with the pod security standard of a namespace.
func enforcing(standard string) map[string]string {
	return markBut(podSecurity, standard)
}

// held adds a sufficient pod security standard to labels. Without one, two policies refuse a namespace, and
// either may be the first.
func held(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[podSecurity] = "baseline"
	return labels
}

// namespaceOf creates a namespace as the administrator.
func namespaceOf(t *testing.T, labels map[string]string) string {
	t.Helper()
	return namespaceIn(t, server(t), labels)
}

// namespaceIn does so in another API server.
func namespaceIn(t *testing.T, s *apiServer, labels map[string]string) string {
	t.Helper()
	namespace := remoteNamespace(labels)
	if err := s.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// remoteNamespace is a namespace as Spillway creates it, with these labels.
func remoteNamespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "remote-", Labels: maps.Clone(labels)}}
}
