package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// Tests whose names begin with TestConsumer hold what a consumer's identity may
// do in a provider against what the provider's administrator applies. They act
// as that identity, and as the administrator where somebody else has to.

// podSecurity is the label by which a namespace enforces a pod security standard.
const podSecurity = "pod-security.kubernetes.io/enforce"

// inProvider applies config/provider, once, and is the client of the identity.
func inProvider(t *testing.T) client.Client {
	t.Helper()
	if err := provide(); err != nil {
		t.Fatal(err)
	}
	return accountClient(t, "spillway-consumer")
}

var provide = sync.OnceValue(func() error {
	ctx := context.Background() // What is applied outlives the first test that needs it.
	shipped, err := manifests.Kustomized(ctx, "config/provider")
	if err != nil {
		return err
	}
	if err := manifests.Create(ctx, server, shipped); err != nil {
		return err
	}
	consumer, err := client.New(accountConfig(administrator, "spillway-consumer"), client.Options{})
	if err != nil {
		return err
	}
	return untilConfined(ctx, consumer)
})

// untilConfined waits until the API server has taken up the policies: until
// each refuses, in a dry run, what it is there for.
func untilConfined(ctx context.Context, consumer client.Client) error {
	marked := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Labels: held(mark())}}
	if err := server.Create(ctx, marked); err != nil {
		return err
	}
	inMarked := metav1.ObjectMeta{Namespace: marked.Name, Name: "probe", Labels: mark()}
	probes := map[string]client.Object{
		"spillway-consumers":         &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}},
		"spillway-consumers-mark":    &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}},
		"spillway-consumers-pods":    podOf(inMarked, func(s *corev1.PodSpec) { s.NodeName, s.ServiceAccountName = "node", "builder" }),
		"spillway-consumers-secrets": secretOf(inMarked, "bootstrap.kubernetes.io/token"),
		"spillway-consumers-claims":  claimOf(inMarked, ""),
		"spillway-consumers-volumes": volumeOf(metav1.ObjectMeta{Name: "probe"}),
		"spillway-consumers-leases":  leaseOf(nil),
		"spillway-limits-namespaces": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-probe", Labels: held(mark())}},
		"spillway-limits-pods": podOf(inMarked, func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}),
		"spillway-limits-metadata' with binding 'spillway-limits-metadata": &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: marked.Name, Name: "probe", Labels: mark(), Annotations: map[string]string{"example.com/probe": "x"},
		}},
		"spillway-limits-metadata' with binding 'spillway-limits-metadata-volumes": volumeOf(metav1.ObjectMeta{
			Name: volumeName, Labels: of("spillway-consumer"), Annotations: map[string]string{"example.com/probe": "x"},
		}),
	}
	for policy, probe := range probes {
		var last error
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			object, _ := probe.DeepCopyObject().(client.Object)
			last = consumer.Create(ctx, object, client.DryRunAll)
			return last != nil && strings.Contains(last.Error(), "'"+policy+"'"), nil
		})
		if err != nil {
			return fmt.Errorf("waiting until policy %s is in effect: %w", policy, errors.Join(err, last))
		}
	}
	return nil
}

// accountClient talks as a ServiceAccount of the namespace spillway-provider.
func accountClient(t *testing.T, name string) client.Client {
	t.Helper()
	c, err := client.New(accountConfig(administrator, name), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// accountConfig has an administrator act as a ServiceAccount, with the groups
// that its token gives it.
func accountConfig(administrator *rest.Config, name string) *rest.Config {
	config := rest.CopyConfig(administrator)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:spillway-provider:" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:spillway-provider", "system:authenticated"},
	}
	return config
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
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "remote-", Labels: maps.Clone(labels)}}
	if err := server.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}
