package admission

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/test/manifests"
)

// TestConsumerUnderOtherLimits is about an administrator who changes the limits,
// and spoils them.
func TestConsumerUnderOtherLimits(t *testing.T) {
	admin, consumer := providerAlone(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "remote-", Labels: held(mark())}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: "pod", Labels: mark()}
	nfs := describing(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.0.0.1", Path: "/"}})
	batch := tolerating(corev1.Toleration{Key: "example.com/batch", Operator: corev1.TolerationOpExists})
	named := func(name string) *corev1.Namespace {
		labels := held(mark())
		labels["team"] = "a"
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	change := func(key, value string) {
		t.Helper()
		limits := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-provider", Name: "limits"}}
		if err := admin.Patch(t.Context(), limits, merge(`{"data":{"`+key+`":`+value+`}}`)); err != nil {
			t.Fatal(err)
		}
	}
	value := func(key string) string {
		t.Helper()
		limits := &corev1.ConfigMap{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "spillway-provider", Name: "limits"}, limits); err != nil {
			t.Fatal(err)
		}
		if value, ok := limits.Data[key]; ok {
			return strconv.Quote(value)
		}
		return "null"
	}

	becomes(t, consumer, podOf(meta, nfs), notAVolume)
	change("volumeTypes", `"csi, nfs"`)
	becomes(t, consumer, podOf(meta, nfs), "")
	change("tolerationKeys", `"other, example.com/batch"`)
	becomes(t, consumer, podOf(meta, batch), "")
	change("namespaceLabels", `"team"`)
	change("namePattern", `".*-\n demo"`)
	becomes(t, consumer, named("team-a-demo"), "")
	becomes(t, consumer, named("team-a-demo-b"), "allows names by namePattern")

	change("metadataKeys", `"kubernetes.io/service-account.name"`)
	becomes(t, consumer, secretOf(meta, corev1.SecretTypeServiceAccountToken),
		"type must not be kubernetes.io/service-account-token: it makes credentials of the provider")

	if err := admin.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Value: 7}); err != nil {
		t.Fatal(err)
	}
	urgent := func(s *corev1.PodSpec) { s.PriorityClassName = "batch" }
	becomes(t, consumer, podOf(meta, urgent), "spec.priorityClassName batch is not among the priorityClasses of ConfigMap spillway-provider/limits")
	change("priorityClasses", `"batch"`)
	becomes(t, consumer, podOf(meta, urgent), "")
	systemCritical := func(s *corev1.PodSpec) { s.PriorityClassName = "system-cluster-critical" }
	change("priorityClasses", `"batch,system-cluster-critical"`)
	becomes(t, consumer, podOf(meta, systemCritical), "spec.priorityClassName must not begin with system-")

	sandbox := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "sandbox"}, Handler: "sandbox", Scheduling: &nodev1.Scheduling{
		Tolerations: []corev1.Toleration{{Key: "sandbox", Operator: corev1.TolerationOpExists}},
	}}
	if err := admin.Create(t.Context(), sandbox); err != nil {
		t.Fatal(err)
	}
	sandboxed := func(s *corev1.PodSpec) { s.RuntimeClassName = ptr.To("sandbox") }
	becomes(t, consumer, podOf(meta, sandboxed), "spec.tolerations[] of sandbox: "+notTolerated)
	change("tolerationKeys", `"sandbox"`)
	becomes(t, consumer, podOf(meta, sandboxed), "")

	// What means nothing refuses everything, and names the key.
	for _, mistake := range []struct{ key, value, want string }{
		{"namePattern", "(", "variables.namePattern"},
		{"reservedNames", "a|[", "variables.reservedNames"},
		{"volumeTypes", "hostPath", "volumeTypes may list nfs, iscsi, fc, csi, and nothing else: hostPath"},
		{"metadataKeys", "helm.sh/, example.com", "metadataKeys may list keys with a domain, and domains with a / at their end: example.com"},
		{"tolerations", "example.com/batch", "tolerations is none of the keys that there are"},
		{"tolerationKeys", strings.Repeat("a,", 3000), "tolerationKeys is longer than 4096 characters"},
	} {
		before := value(mistake.key)
		change(mistake.key, strconv.Quote(mistake.value))
		becomes(t, consumer, podOf(meta), mistake.want)
		becomes(t, consumer, named("team-a-demo"), mistake.want)
		change(mistake.key, before)
		becomes(t, consumer, podOf(meta), "")
	}
}

// TestConsumerWithoutLimits is about what nobody can do when the limits are
// missing, and what everybody but the consumers still can.
func TestConsumerWithoutLimits(t *testing.T) {
	admin, consumer := providerAlone(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "remote-", Labels: held(mark())}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: "pod", Labels: mark()}
	becomes(t, consumer, podOf(meta), "")
	secret, volume := secretOf(meta, corev1.SecretTypeOpaque), volumeOf(metav1.ObjectMeta{Name: volumeName, Labels: of(shippedAccount)})
	becomes(t, consumer, secret, "")
	becomes(t, consumer, volume, "")
	if err := admin.Create(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	running, another := podOf(meta), podOf(meta)
	another.Namespace, another.Labels = "default", nil
	for _, pod := range []*corev1.Pod{running, another} {
		if err := admin.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-provider", Name: "limits"}}); err != nil {
		t.Fatal(err)
	}
	becomes(t, consumer, podOf(metav1.ObjectMeta{Namespace: namespace.Name, Name: "next", Labels: mark()}), "no params found for policy binding")
	becomes(t, consumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a-demo", Labels: held(mark())}}, "no params found for policy binding")
	becomes(t, consumer, secret, "no params found for policy binding")

	// What runs goes on, and is deleted, also where Kubernetes changes it first.
	refused(t, admin.Patch(t.Context(), volume, merge(`{"metadata":{"finalizers":["example.com/protection"]}}`)), "")
	refused(t, admin.Patch(t.Context(), volume, merge(`{"metadata":{"finalizers":null}}`)), "")
	running.Status.Phase = corev1.PodRunning
	refused(t, admin.Status().Update(t.Context(), running), "")
	refused(t, consumer.Delete(t.Context(), running, client.DryRunAll), "")
	refused(t, consumer.Delete(t.Context(), namespace, client.DryRunAll), "")
	// Nobody else is held up.
	user := rest.CopyConfig(admin.config)
	user.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{"system:authenticated", "system:masters"}}
	somebody, err := client.New(user, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]client.Client{"the administrator": admin, "somebody": somebody} {
		t.Run(name, func(t *testing.T) {
			refused(t, c.Create(t.Context(), podOf(metav1.ObjectMeta{Namespace: "default", Name: "next"}), client.DryRunAll), "")
			refused(t, c.Patch(t.Context(), another, merge(`{"metadata":{"annotations":{"a":"b"}}}`), client.DryRunAll), "")
			refused(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "anybody"}}, client.DryRunAll), "")
		})
	}
}

// soleProvider is an API server whose limits a test may change.
type soleProvider struct {
	client.Client
	config *rest.Config
}

// providerAlone is an API server of the test's own, with config/provider, and its consumer.
func providerAlone(t *testing.T) (soleProvider, client.Client) {
	t.Helper()
	var admin client.Client
	env, err := startServer(&admin, func(*envtest.Environment) {})
	if env != nil {
		t.Cleanup(func() { stop(t, env) })
	}
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := manifests.Kustomized(t.Context(), "config/provider")
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Create(t.Context(), admin, shipped); err != nil {
		t.Fatal(err)
	}
	consumer, err := client.New(accountConfig(env.Config, shippedAccount), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return soleProvider{admin, env.Config}, consumer
}

// becomes waits until a creation is refused with what is wanted, or is allowed:
// the API server takes a change up a moment after it was made.
func becomes(t *testing.T, c client.Client, object client.Object, want string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		again, _ := object.DeepCopyObject().(client.Object)
		last = c.Create(ctx, again, client.DryRunAll)
		return says(last, want), nil
	})
	if err != nil {
		t.Fatalf("waiting for an answer that says %q: the last one was %v", want, last)
	}
}
