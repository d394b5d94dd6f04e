package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestConsumerPods(t *testing.T) {
	consumer := inProvider(t)
	baseline, restricted := namespaceOf(t, held(mark())), namespaceOf(t, enforcing("restricted"))
	unheld, privileged := namespaceOf(t, mark()), namespaceOf(t, enforcing("privileged"))
	const noStandard = "must have the label pod-security.kubernetes.io/enforce"
	for name, test := range map[string]struct {
		namespace string
		change    func(*corev1.PodSpec)
		want      string // Part of the refusal; empty: allowed.
	}{
		"as Spillway sends it": {baseline, func(*corev1.PodSpec) {}, ""},
		"ServiceAccount default": {baseline, func(s *corev1.PodSpec) {
			s.ServiceAccountName = "default"
		}, ""},
		"ServiceAccount of its choice": {baseline, func(s *corev1.PodSpec) {
			s.ServiceAccountName = "builder"
		}, "spec.serviceAccountName must be empty or default"},
		"ServiceAccount by the old name of the field": {baseline, func(s *corev1.PodSpec) {
			s.DeprecatedServiceAccount = "builder"
		}, "spec.serviceAccountName must be empty or default"},
		"token": {baseline, func(s *corev1.PodSpec) {
			s.AutomountServiceAccountToken = ptr.To(true)
		}, "spec.automountServiceAccountToken must be false"},
		"token by default": {baseline, func(s *corev1.PodSpec) {
			s.AutomountServiceAccountToken = nil
		}, "spec.automountServiceAccountToken must be false"},
		"token in a volume": {baseline, projecting(corev1.VolumeProjection{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "vault"},
		}), "spec.volumes[].projected.sources[] must not have serviceAccountToken"},
		"certificate in a volume": {baseline, projecting(corev1.VolumeProjection{
			PodCertificate: &corev1.PodCertificateProjection{
				SignerName: "example.com/signer", KeyType: "ED25519", CredentialBundlePath: "bundle"},
		}), "spec.volumes[].projected.sources[] must not have serviceAccountToken or podCertificate"},
		"other projected volumes": {baseline, projecting(corev1.VolumeProjection{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}},
		}), ""},
		"claim that Kubernetes makes": {baseline, func(s *corev1.PodSpec) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
					VolumeName: "backup", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				}},
			}}})
		}, "spec.volumes[].ephemeral must not be set"},
		"node of its choice": {baseline, func(s *corev1.PodSpec) {
			s.NodeName = "control-plane"
		}, "spec.nodeName must be empty"},
		"priority of the system": {baseline, func(s *corev1.PodSpec) {
			s.PriorityClassName = "system-node-critical"
		}, notAClass},
		"apart from its own pods": {baseline, apartFrom(map[string]string{"app": "web", v1alpha1.LabelAccount: shippedAccount}), ""},
		"apart from no pods":      {baseline, apartFrom(nil), ""},
		"apart from everybody":    {baseline, apartFrom(map[string]string{}), notByAccount},
		"apart from a name":       {baseline, apartFrom(map[string]string{"app": "web"}), notByAccount},
		"apart from others' pods": {baseline, apartFrom(map[string]string{v1alpha1.LabelAccount: "other"}), notByAccount},
		"together with others' pods": {baseline, func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{foreign}}}
		}, notByAccount},
		"rather apart from others' pods": {baseline, func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: foreign}}}}
		}, notByAccount},
		// Where Kubernetes itself enforces a standard, its refusal comes first.
		"files of a node": {baseline, mountingRoot, "violates PodSecurity"},
		"files of a node, where no standard is enforced": {unheld, mountingRoot, "spec.volumes[].hostPath must not be set"},
		"privileged":                              {baseline, runningPrivileged, "violates PodSecurity"},
		"privileged, where that is allowed":       {privileged, runningPrivileged, noStandard},
		"harmless, where no standard is enforced": {unheld, func(*corev1.PodSpec) {}, noStandard},
		"harmless, where less would be enough": {restricted, func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			}
			s.Containers[0].SecurityContext = &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(metav1.ObjectMeta{Namespace: test.namespace, Name: "pod", Labels: mark()}, test.change)
			refused(t, consumer.Create(t.Context(), pod, client.DryRunAll), test.want)
		})
	}
}

const notByAccount = "must select pods by matchLabels[spillway.io/account] of the namespace"

// foreign is about pods of all namespaces.
var foreign = corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{}}

// apartFrom gives a pod an anti-affinity to pods with these labels in all namespaces, or to none.
func apartFrom(pods map[string]string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		term := *foreign.DeepCopy()
		if term.LabelSelector.MatchLabels = pods; pods == nil {
			term.LabelSelector = nil
		}
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
}

// TestConsumerDebugsPods adds containers to running pods.
func TestConsumerDebugsPods(t *testing.T) {
	consumer := inProvider(t)
	for name, test := range map[string]struct {
		labels map[string]string
		patch  string
		want   string // Part of the refusal; empty: allowed.
	}{
		"harmless":   {held(mark()), `{"spec":{"ephemeralContainers":[{"name":"debug","image":"image"}]}}`, ""},
		"privileged": {held(mark()), `{"spec":{"ephemeralContainers":[{"name":"debug","image":"image","securityContext":{"privileged":true}}]}}`, "violates PodSecurity"},
		"where no standard is enforced": {mark(), `{"spec":{"ephemeralContainers":[{"name":"debug","image":"image"}]}}`,
			"must have the label pod-security.kubernetes.io/enforce"},
	} {
		t.Run(name, func(t *testing.T) {
			// The pod runs on a node, with what the provider has added to it.
			pod := made(t, podOf(metav1.ObjectMeta{Namespace: namespaceOf(t, test.labels), Name: "pod", Labels: mark()}, func(s *corev1.PodSpec) {
				s.NodeName, s.ServiceAccountName = "node", "default"
			}))
			err := consumer.SubResource("ephemeralcontainers").Patch(t.Context(), pod, strategic(test.patch))
			refused(t, err, test.want)
		})
	}
}

// projecting adds a volume to a pod, and a ServiceAccount. Some sources need the account, and by default
// Kubernetes sets it on each pod.
func projecting(source corev1.VolumeProjection) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.ServiceAccountName = "default"
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}},
		}}}
	}
}

func mountingRoot(s *corev1.PodSpec) {
	s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
}

func runningPrivileged(s *corev1.PodSpec) {
	s.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
}
