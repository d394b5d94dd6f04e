package admission

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestConsumerUnderOtherLimits tests an administrator who changes the limits, also to invalid values.
func TestConsumerUnderOtherLimits(t *testing.T) {
	limits := changing(t)
	consumer := limits.consumer
	meta := metav1.ObjectMeta{Namespace: namespaceIn(t, spare(t), held(mark())), Name: "pod", Labels: mark()}
	nfs := describing(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.0.0.1", Path: "/"}})
	batch := tolerating(corev1.Toleration{Key: "example.com/batch", Operator: corev1.TolerationOpExists})
	data := maps.Clone(limits.shipped.Data)
	change := func(key, value string) {
		t.Helper()
		data[key] = value
		limits.become(t, data)
	}

	becomes(t, consumer, podOf(meta, nfs), notAVolume)
	change("volumeTypes", "csi, nfs")
	becomes(t, consumer, podOf(meta, nfs), "")
	change("tolerationKeys", "other, example.com/batch")
	becomes(t, consumer, podOf(meta, batch), "")
	change("namespaceLabels", "team")
	change("namePattern", ".*-\n demo")
	becomes(t, consumer, ofTeam("team-a-demo"), "")
	becomes(t, consumer, ofTeam("team-a-demo-b"), notAName)

	change("metadataKeys", "kubernetes.io/service-account.name")
	becomes(t, consumer, secretOf(meta, corev1.SecretTypeServiceAccountToken),
		"type must not be kubernetes.io/service-account-token")

	temporaryIn(t, spare(t), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Value: 7})
	urgent := func(s *corev1.PodSpec) { s.PriorityClassName = "batch" }
	becomes(t, consumer, podOf(meta, urgent), notAClass)
	change("priorityClasses", "batch")
	becomes(t, consumer, podOf(meta, urgent), "")
	systemCritical := func(s *corev1.PodSpec) { s.PriorityClassName = "system-cluster-critical" }
	change("priorityClasses", "batch,system-cluster-critical")
	becomes(t, consumer, podOf(meta, systemCritical), notAClass)

	temporaryIn(t, spare(t), &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "sandbox"}, Handler: "sandbox", Scheduling: &nodev1.Scheduling{
		Tolerations: []corev1.Toleration{{Key: "sandbox", Operator: corev1.TolerationOpExists}},
	}})
	sandboxed := func(s *corev1.PodSpec) { s.RuntimeClassName = ptr.To("sandbox") }
	becomes(t, consumer, podOf(meta, sandboxed), notTolerated)
	change("tolerationKeys", "sandbox")
	becomes(t, consumer, podOf(meta, sandboxed), "")
	maps.Copy(data, map[string]string{"storageClasses": "fast, slow", "volumeAttributesClasses": "*", "csiSecretNamespaces": "rook-ceph,\nceph-csi", "serviceAccounts": "team-a-*/s3.reader,\n*/b+token,"})
	limits.become(t, data) // All that open and spoil do goes on with these.
	limits.open(t, data, urgent)
	limits.spoil(t, data, meta)
}

// open sets one key after the other to allow everything. Each must work alone, and what no key allows must
// stay forbidden.
func (l limits) open(t *testing.T, data map[string]string, urgent func(*corev1.PodSpec)) {
	t.Helper()
	privileged := enforcing("privileged")
	meta := metav1.ObjectMeta{Namespace: namespaceIn(t, spare(t), held(mark())), Name: "pod", Labels: mark()}
	// The name matches those for which authorization.yaml lets the consumer patch pods.
	there := temporaryIn(t, spare(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "privileged-demo", Labels: privileged}})
	inPrivileged := metav1.ObjectMeta{Namespace: there.Name, Name: "pod", Labels: mark()}
	commanded := podOf(meta)
	commanded.Annotations = map[string]string{"sidecar.istio.io/inject": "true"}
	everything := tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})
	iscsi := describing(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2001-04.com.example:a"}})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-b-demo", Labels: privileged}}
	ofGold := claimOf(meta, volumeName)
	ofGold.Spec.VolumeAttributesClassName = ptr.To("gold")
	for key, opened := range map[string]struct {
		value  string
		object client.Object
		before string // Part of the refusal, until the key is set.
	}{
		"metadataKeys":            {"*", commanded, notLetIn},
		"tolerationKeys":          {"*", podOf(meta, everything), notTolerated},
		"volumeTypes":             {"*", podOf(meta, iscsi), notAVolume},
		"priorityClasses":         {"*", podOf(meta, urgent), notAClass},
		"storageClasses":          {"*", classed("fast")(meta), notProvisioned},
		"volumeAttributesClasses": {"*", ofGold, notAttributes},
		"podSecurity":             {"privileged", podOf(inPrivileged, runningPrivileged), "must have the label pod-security.kubernetes.io/enforce"},
	} {
		alone := maps.Clone(data)
		maps.Copy(alone, map[string]string{"metadataKeys": "", "tolerationKeys": "", "volumeTypes": "", "priorityClasses": "", "storageClasses": "", "volumeAttributesClasses": "", "podSecurity": "baseline"})
		l.become(t, alone)
		becomes(t, l.consumer, opened.object, opened.before)
		alone[key] = opened.value
		l.become(t, alone)
		becomes(t, l.consumer, opened.object, "")
		if key != "podSecurity" {
			becomes(t, l.consumer, namespace, "with the value baseline or restricted")
			continue
		}
		becomes(t, l.consumer, namespace, "")
		becomes(t, l.consumer, podOf(inPrivileged, mountingRoot), "")
		l.stillForbidden(t, inPrivileged)
	}
	l.become(t, data)
	becomes(t, l.consumer, podOf(inPrivileged), "must have the label pod-security.kubernetes.io/enforce")
}

// stillForbidden: even a pod that may be privileged gets no rights in the provider, chooses no node and no
// system priority. It is not allowed at all in a namespace that enforces no standard.
func (l limits) stillForbidden(t *testing.T, meta metav1.ObjectMeta) {
	t.Helper()
	unheld := metav1.ObjectMeta{Namespace: namespaceIn(t, spare(t), mark()), Name: "pod", Labels: mark()}
	refused(t, l.consumer.Create(t.Context(), podOf(unheld), client.DryRunAll), "must have the label pod-security.kubernetes.io/enforce")
	for want, change := range map[string]func(*corev1.PodSpec){
		"spec.serviceAccountName must be empty or default": func(s *corev1.PodSpec) { s.ServiceAccountName = "builder" },
		"spec.nodeName must be empty":                      func(s *corev1.PodSpec) { s.NodeName = "control-plane" },
		notAClass:                                          func(s *corev1.PodSpec) { s.PriorityClassName = "system-node-critical" },
		"must not have serviceAccountToken":                projecting(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}),
	} {
		refused(t, l.consumer.Create(t.Context(), podOf(meta, change), client.DryRunAll), want)
	}
	running := temporaryIn(t, spare(t), podOf(meta, func(s *corev1.PodSpec) { s.NodeName = "node" }))
	const debug = `{"spec":{"ephemeralContainers":[{"name":"debug","image":"image","securityContext":{"privileged":true}}]}}`
	refused(t, l.consumer.SubResource("ephemeralcontainers").Patch(t.Context(), running, strategic(debug), client.DryRunAll), "")
}

// ofTeam is a namespace with its own label.
func ofTeam(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: held(markBut("team", "a"))}}
}

// spoil sets keys to invalid values. Each must refuse everything, and the refusal of a namespace must name
// the key.
func (l limits) spoil(t *testing.T, data map[string]string, meta metav1.ObjectMeta) {
	t.Helper()
	const notValid = "ConfigMap spillway-provider/limits is not valid"
	for _, mistake := range []struct{ key, value, want, ofPod string }{
		{"namePattern", "(", "variables.namePattern", "limits[?'namePattern']"},
		{"reservedNames", "a|[", "variables.reservedNames", "limits[?'reservedNames']"},
		{"volumeTypes", "hostPath", "volumeTypes may list only nfs, iscsi, fc and csi, or *: hostPath", notValid},
		{"metadataKeys", "helm.sh/, example.com", "metadataKeys may list only keys with a domain, domains that end in /, or *: example.com", notValid},
		{"podSecurity", "restricted", "podSecurity must be baseline or privileged: restricted", notValid},
		{"endpointCIDRs", "10.1.0.0/16, 10.1", "endpointCIDRs may list only ranges such as 10.0.0.0/16 and fd00:1::/48: 10.1", notValid},
		{"csiSecretNamespaces", "ceph-csi, *", "csiSecretNamespaces may list only names of namespaces: *", notValid},
		{"serviceAccounts", "team-a-*/s3-reader, */*", "serviceAccounts may list only NAMESPACE/NAME, such as team-a-*/s3-reader, or NAMESPACE/NAME+token: */*", notValid},
		{"tolerations", "example.com/batch", "tolerations is not a known key", notValid},
		{"tolerationKeys", strings.Repeat("a,", 3000), "tolerationKeys is longer than 4096 characters", notValid},
	} {
		spoilt := maps.Clone(data)
		spoilt[mistake.key] = mistake.value
		l.become(t, spoilt)
		becomes(t, l.consumer, podOf(meta), mistake.ofPod)
		becomes(t, l.consumer, ofTeam("team-a-demo"), mistake.want)
		l.become(t, data)
		becomes(t, l.consumer, podOf(meta), "")
	}
}

// TestConsumerWithoutLimits: without the limits, a consumer can write nothing, but everybody else can.
func TestConsumerWithoutLimits(t *testing.T) {
	admin, consumer := spare(t), spare(t).consumer(t, shippedAccount)
	namespace := remoteNamespace(held(mark()))
	namespace.Name = namespaceIn(t, admin, namespace.Labels)
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: "pod", Labels: mark()}
	becomes(t, consumer, podOf(meta), "")
	secret, volume := secretOf(meta, corev1.SecretTypeOpaque), volumeOf(metav1.ObjectMeta{Name: volumeName, Labels: markOf(shippedAccount)})
	becomes(t, consumer, secret, "")
	becomes(t, consumer, volume, "")
	temporaryIn(t, admin, volume)
	running, another := temporaryIn(t, admin, podOf(meta)), podOf(meta)
	another.Namespace, another.Labels = "default", nil
	temporaryIn(t, admin, another)
	if err := admin.Delete(t.Context(), changing(t).shipped.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	becomes(t, consumer, podOf(metav1.ObjectMeta{Namespace: namespace.Name, Name: "next", Labels: mark()}), "no params found for policy binding")
	becomes(t, consumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a-demo", Labels: held(mark())}}, "no params found for policy binding")
	becomes(t, consumer, secret, "no params found for policy binding")

	// Running pods and existing objects stay and can be deleted, even where Kubernetes changes them first.
	// Nobody else is affected.
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

// limits are the limits of the spare API server, for a test to change.
type limits struct {
	shipped  *corev1.ConfigMap
	consumer client.Client
}

// changing returns the limits, and restores them after the test. The restored limits are in effect when a
// request is allowed again that was refused without limits.
func changing(t *testing.T) limits {
	t.Helper()
	l := limits{shipped: &corev1.ConfigMap{}, consumer: spare(t).consumer(t, shippedAccount)}
	if err := spare(t).Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: "limits"}, l.shipped); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := spare(t).Delete(ctx, l.shipped.DeepCopy()); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		becomes(t, l.consumer, remoteNamespace(held(mark())), "no params found for policy binding")
		l.shipped.ResourceVersion = ""
		if err := spare(t).Create(ctx, l.shipped); err != nil {
			t.Fatal(err)
		}
		becomes(t, l.consumer, remoteNamespace(held(mark())), "")
	})
	return l
}

// become writes other limits.
func (l limits) become(t *testing.T, data map[string]string) {
	t.Helper()
	changed := l.shipped.DeepCopy()
	changed.ResourceVersion, changed.Data = "", data
	if err := spare(t).Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
}
