package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	notTolerated = "spec.tolerations[] must each have a key, and new ones only if tolerationKeys of ConfigMap spillway-provider/limits lists them"
	notAVolume   = "spec.volumes[] may have nfs, iscsi, fc and csi only if volumeTypes of ConfigMap spillway-provider/limits lists them"
	notAClass    = "spec.priorityClassName must be among the priorityClasses of ConfigMap spillway-provider/limits, and must not begin with system-"
	notALabel    = "metadata.labels may have only Spillway's own, the namespaceLabels of ConfigMap spillway-provider/limits"
	notAName     = "metadata.name must match namePattern of ConfigMap spillway-provider/limits"
)

// TestConsumerNamesOfNamespaces tests the shipped limits.
func TestConsumerNamesOfNamespaces(t *testing.T) {
	consumer := inProvider(t)
	const reserved, without = "metadata.name must not be among the reservedNames", notAName
	for name, want := range map[string]string{
		"team-a-demo": "", "team-a": "", "team-0123456789abcdef0123456789abcdef": "",
		"kube-team": reserved, "openshift-team": reserved, "gatekeeper-system": reserved, "cert-manager": reserved, "spillway-provider": reserved, "xn--p1ai": reserved,
		// Names under which pods of the provider look up something else in DNS.
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
		"an audit of nothing":     {"pod-security.kubernetes.io/audit", "privileged", notALabel},
		"an old standard":         {"pod-security.kubernetes.io/enforce-version", "v1.0", notALabel},
		"OpenShift's way past it": {"openshift.io/run-level", "0", notALabel},
		"anybody's":               {"istio-injection", "enabled", notALabel},
		"another one of ours":     {"spillway.io/other", "x", notALabel},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := remoteNamespace(held(markBut(test.key, test.value)))
			refused(t, consumer.Create(t.Context(), namespace, client.DryRunAll), test.want)
		})
	}
}

func TestConsumerAnnotationsOfNamespaces(t *testing.T) {
	consumer := inProvider(t)
	const others = "metadata.annotations may have only those of Spillway"
	for key, want := range map[string]string{
		"spillway.io/local-namespace": "", "remote.spillway.io/eu": "",
		"openshift.io/node-selector": others,
		"plain":                      others, "xspillway.io/a": others,
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
		"every taint":          {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), notTolerated},
		"every taint softly":   {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}), notTolerated},
		"a control plane node": {tolerating(corev1.Toleration{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists}), notTolerated},
		"a taint":              {tolerating(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}), notTolerated},
		"a soft taint":         {tolerating(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectPreferNoSchedule}), ""},
		"an outage":            {tolerating(corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), ""},
		"an outage, scheduled": {tolerating(corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists}), notTolerated},
		"of a GPU":             {ofResource("nvidia.com/gpu", "1", "nvidia.com/gpu", ""), ""},
		"of a GPU of a kind":   {ofResource("nvidia.com/gpu", "1", "nvidia.com/gpu", corev1.TolerationOpEqual), ""},
		"of another resource":  {ofResource("nvidia.com/gpu", "1", "amd.com/gpu", corev1.TolerationOpExists), notTolerated},
		"of none of it":        {ofResource("nvidia.com/gpu", "0", "nvidia.com/gpu", corev1.TolerationOpExists), notTolerated},
		"of its processors":    {ofResource("cpu", "1", "cpu", corev1.TolerationOpExists), notTolerated},
		"of every one":         {ofResource("nvidia.com/gpu", "1", "", corev1.TolerationOpExists), notTolerated},
		"of two, one its own": {func(s *corev1.PodSpec) {
			ofResource("nvidia.com/gpu", "1", "nvidia.com/gpu", corev1.TolerationOpExists)(s)
			s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: "amd.com/gpu", Operator: corev1.TolerationOpExists})
		}, notTolerated},
		"of one before it runs": {func(s *corev1.PodSpec) {
			ofResource("nvidia.com/gpu", "1", "nvidia.com/gpu", corev1.TolerationOpExists)(s)
			s.InitContainers, s.Containers = s.Containers, []corev1.Container{{Name: "app", Image: "example.com/app:1"}}
			s.InitContainers[0].Name = "init"
		}, ""},
		"nfs":      {describing(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.0.0.1", Path: "/"}}), notAVolume},
		"iscsi":    {describing(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2026-11.com.example:storage"}}), notAVolume},
		"fc":       {describing(corev1.VolumeSource{FC: &corev1.FCVolumeSource{WWIDs: []string{"id"}}}), notAVolume},
		"csi":      {describing(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com"}}), notAVolume},
		"emptyDir": {describing(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), podOf(own, test.change), client.DryRunAll), test.want)
		})
	}
}

// ofResource returns a change of a pod that requests a resource and tolerates a taint.
func ofResource(resourceName corev1.ResourceName, quantity, taint string, operator corev1.TolerationOperator) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		list := corev1.ResourceList{resourceName: resource.MustParse(quantity)}
		s.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
		s.Tolerations = []corev1.Toleration{{Key: taint, Operator: operator}}
	}
}

// TestConsumerToleratesLater tests existing pods: they keep their tolerations.
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
