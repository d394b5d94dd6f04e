package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	notTolerated = "the key is not among the tolerationKeys of ConfigMap spillway-provider/limits"
	notAVolume   = "is not among the volumeTypes of ConfigMap spillway-provider/limits"
)

// TestConsumerNamesOfNamespaces is about the limits as they are shipped.
func TestConsumerNamesOfNamespaces(t *testing.T) {
	consumer := inProvider(t)
	const reserved, without = "the name is among the reservedNames", "allows names by namePattern: .*-.*"
	for name, want := range map[string]string{
		"team-a-demo": "", "team-a": "", "team-0123456789abcdef0123456789abcdef": "",
		"kube-team": reserved, "openshift-team": reserved, "gatekeeper-system": reserved, "cert-manager": reserved, "spillway-provider": reserved, "xn--p1ai": reserved,
		// Names that pods of the provider look up in its DNS for something else.
		"vault": without, "svc": without, "com": without,
	} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: held(mark())}}
		refused(t, consumer.Create(t.Context(), namespace, client.DryRunAll), want)
	}
}

func TestConsumerLabelsOfNamespaces(t *testing.T) {
	consumer := inProvider(t)
	for name, test := range map[string]struct{ key, value, want string }{
		"a warning":               {"pod-security.kubernetes.io/warn", "restricted", ""},
		"an audit of nothing":     {"pod-security.kubernetes.io/audit", "privileged", "must be baseline or restricted"},
		"an old standard":         {"pod-security.kubernetes.io/enforce-version", "v1.0", "must not be set: it lifts what pods are held to"},
		"OpenShift's way past it": {"openshift.io/run-level", "0", "must not be set: it lifts what pods are held to"},
		"anybody's":               {"istio-injection", "enabled", "is not among the namespaceLabels"},
		"another one of ours":     {"spillway.io/other", "x", "is not among the namespaceLabels"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := remoteNamespace(held(markBut(test.key, test.value)))
			refused(t, consumer.Create(t.Context(), namespace, client.DryRunAll), test.want)
		})
	}
}

func TestConsumerAnnotationsOfNamespaces(t *testing.T) {
	consumer := inProvider(t)
	for key, want := range map[string]string{
		"spillway.io/local-namespace": "", "remote.spillway.io/eu": "",
		"openshift.io/node-selector": "metadata.annotations[openshift.io/node-selector] is not one of Spillway",
		"plain":                      "metadata.annotations[plain] is not one of Spillway", "xspillway.io/a": "metadata.annotations[xspillway.io/a] is not one of Spillway",
	} {
		t.Run(key, func(t *testing.T) {
			namespace := remoteNamespace(held(mark()))
			namespace.Annotations = map[string]string{key: "x"}
			refused(t, consumer.Create(t.Context(), namespace, client.DryRunAll), want)
		})
	}
}

func TestConsumerLimitsOfPods(t *testing.T) {
	consumer := inProvider(t)
	own := metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "pod", Labels: mark()}
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string // Part of the refusal; empty: allowed.
	}{
		"every taint":          {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), "there is no key"},
		"every taint softly":   {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}), "there is no key"},
		"a control plane node": {tolerating(corev1.Toleration{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists}), notTolerated},
		"a taint":              {tolerating(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}), notTolerated},
		"a soft taint":         {tolerating(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectPreferNoSchedule}), ""},
		"an outage":            {tolerating(corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), ""},
		"an outage, scheduled": {tolerating(corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists}), notTolerated},
		"nfs":                  {describing(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.0.0.1", Path: "/"}}), "spec.volumes[].nfs " + notAVolume},
		"iscsi":                {describing(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2026-11.com.example:storage"}}), "spec.volumes[].iscsi " + notAVolume},
		"fc":                   {describing(corev1.VolumeSource{FC: &corev1.FCVolumeSource{WWIDs: []string{"id"}}}), "spec.volumes[].fc " + notAVolume},
		"csi":                  {describing(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com"}}), "spec.volumes[].csi " + notAVolume},
		"emptyDir":             {describing(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), podOf(own, test.change), client.DryRunAll), test.want)
		})
	}
}

// TestConsumerToleratesLater is about pods that exist: what one has, it keeps.
func TestConsumerToleratesLater(t *testing.T) {
	consumer := inProvider(t)
	every := corev1.Toleration{Operator: corev1.TolerationOpExists}
	pod := made(t, podOf(metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "pod", Labels: mark()}, tolerating(every)))
	refused(t, consumer.Patch(t.Context(), pod, merge(`{"metadata":{"annotations":{"a":"b"}}}`)), "")
	before := pod.DeepCopy()
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists})
	refused(t, consumer.Patch(t.Context(), pod, client.MergeFrom(before)), notTolerated)
}

func tolerating(tolerations ...corev1.Toleration) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.Tolerations = tolerations }
}

func describing(source corev1.VolumeSource) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
}
