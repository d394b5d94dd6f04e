package admission

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Tests whose names begin with TestConsumer hold what a consumer's identity may
// do in a provider against what the provider's administrator applies. They act
// as that identity, and as the administrator where somebody else has to.

// podSecurity is the label by which a namespace enforces a pod security standard.
const podSecurity = "pod-security.kubernetes.io/enforce"

// shippedAccount is the one of config/provider.
const shippedAccount = "spillway-consumer"

// inProvider is the client of the identity.
func inProvider(t *testing.T) client.Client {
	t.Helper()
	return server(t).consumer(t, shippedAccount)
}

// untilConsumerIsConfined waits until the policies that are about consumers are in effect.
func untilConsumerIsConfined(ctx context.Context, s *apiServer) error {
	consumer, err := s.account(v1alpha1.ProviderNamespace, shippedAccount)
	if err != nil {
		return err
	}
	marked := remoteNamespace(held(mark()))
	if err := s.Create(ctx, marked); err != nil {
		return err
	}
	inMarked := metav1.ObjectMeta{Namespace: marked.Name, Name: "probe", Labels: mark()}
	commanding := map[string]string{"example.com/probe": "x"}
	probes := map[string]func(context.Context) error{}
	for policy, probe := range map[string]client.Object{
		"spillway-consumers":         &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}},
		"spillway-consumers-mark":    &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}},
		"spillway-consumers-pods":    podOf(inMarked, func(s *corev1.PodSpec) { s.NodeName, s.ServiceAccountName = "node", "builder" }),
		"spillway-consumers-secrets": secretOf(inMarked, "bootstrap.kubernetes.io/token"),
		"spillway-consumers-claims":  claimOf(inMarked, ""),
		"spillway-consumers-volumes": volumeOf(metav1.ObjectMeta{Name: "probe"}),
		"spillway-consumers-leases":  leaseOf(nil),
		"spillway-limits-namespaces": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-probe", Labels: held(mark())}},
		"spillway-limits-pods":       podOf(inMarked, tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})),
		"spillway-limits-metadata' with binding 'spillway-limits-metadata": &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: marked.Name, Name: "probe", Labels: mark(), Annotations: commanding,
		}},
		"spillway-limits-metadata' with binding 'spillway-limits-metadata-volumes": volumeOf(metav1.ObjectMeta{
			Name: volumeName, Labels: markOf(shippedAccount), Annotations: commanding,
		}),
	} {
		probes[policy] = creating(consumer, probe)
	}
	return untilConfined(ctx, probes)
}

// refused checks that err is a refusal that says want, or nil if want is empty.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one that is Forbidden and says %q", err, want)
	}
}

// says reports whether err is a refusal that says want, or nil if want is empty.
func says(err error, want string) bool {
	if want == "" {
		return err == nil
	}
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), want)
}

// mark is what carries the mark of one consumer and binding, by the shipped account.
func mark() map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway, v1alpha1.LabelOrigin: "origin", v1alpha1.LabelBinding: "eu",
		v1alpha1.LabelAccount: shippedAccount,
	}
}

// markBut is mark with one label of another value, or without it if that is empty.
func markBut(key, value string) map[string]string {
	labels := mark()
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	return labels
}

// enforcing is mark, and the pod security standard of a namespace.
func enforcing(standard string) map[string]string {
	return markBut(podSecurity, standard)
}

// held are labels, and a pod security standard that suffices: without one, a
// namespace is refused by two policies, and either may be the first to say so.
func held(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[podSecurity] = "baseline"
	return labels
}

// namespaceOf has the administrator make a namespace.
func namespaceOf(t *testing.T, labels map[string]string) string {
	t.Helper()
	return namespaceIn(t, server(t), labels)
}

// namespaceIn has the administrator of another API server do it.
func namespaceIn(t *testing.T, s *apiServer, labels map[string]string) string {
	t.Helper()
	namespace := remoteNamespace(labels)
	if err := s.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// remoteNamespace is a namespace as Spillway makes them, with these labels.
func remoteNamespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "remote-", Labels: maps.Clone(labels)}}
}
