package accept

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// example is a pod, or a provider, to which one check applies.
type example struct {
	change func(*corev1.Pod, *Provider)
	reason string
	// message is what the owner of the pod reads.
	message string
	// scope is what must be known.
	scope scope
}

func withVolume(source corev1.VolumeSource) func(*corev1.Pod, *Provider) {
	return func(pod *corev1.Pod, _ *Provider) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
	}
}

// examples has a pod for each check, by the name of the check.
var examples = map[string]example{
	"static pod": {func(pod *corev1.Pod, _ *Provider) {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	},
		"StaticPod", "it is a static pod, which the kubelet of its node runs by itself", podAlone},
	"DaemonSet pod": {func(pod *corev1.Pod, _ *Provider) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
	}, "DaemonSetPod", "DaemonSet pods run on the consumer's own nodes; annotate the pod with spillway.io/offload-daemonset=true to run it in the provider", podAlone},
	"fields": {func(pod *corev1.Pod, _ *Provider) { pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} },
		"ResourceClaims", "spec.resourceClaims is set: drivers of the consumer allocate the claims" + cureOfPod, podAlone},
	"volumes": {withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", VolumeAttributes: map[string]string{"secretName": "s"}}}),
		"Credentials", "spec.volumes[v].csi.volumeAttributes[secretName] is set: the driver would use a Secret of the provider" + cureOfPod, podAlone},
	"tokens": {func(pod *corev1.Pod, in *Provider) {
		withVolume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "p"}}}}})(pod, in)
		in.API = field.ConsumerAPI{}
	}, "Credentials", "spec.volumes[v].projected.sources[0].serviceAccountToken is set: tokens of the consumer are not sent" + cureOfPod, standard},
	"names of tokens": {func(pod *corev1.Pod, _ *Provider) {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: field.TokenSecretName("0b9cbe4a-6c2f-4d0e-9a55-3f4f3a1d7c11")})
	}, "Credentials", "Secret spillway-token-0b9cbe4a-6c2f-4d0e-9a55-3f4f3a1d7c11 cannot be used: Secrets of such a name have the API tokens of pods in the provider" + cureOfPod, provider},
	"consumer's API": {func(pod *corev1.Pod, in *Provider) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
		}}})
		in.API.Lists = func(string, string) bool { return true }
	}, "ConsumerAPIMissing", "the NamespaceOffloading gives ServiceAccount default access to the API, but the ClusterBinding does not say where pods reach it; " +
		"ask the platform engineer to set spec.consumerAPI", provider},
	"limits": {func(_ *corev1.Pod, in *Provider) { in.Limits = field.MissingLimits() },
		"LimitsMissing", field.MissingLimits().Unknown.Message, provider},
	"privileged fields": {func(pod *corev1.Pod, _ *Provider) { pod.Spec.HostPID = true },
		"PodSecurity", "spec.hostPID is set: the pod would share it with a node of the provider" + cureOfPod + cureOfPodSecurity, standard},
	"security context": {func(pod *corev1.Pod, _ *Provider) {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax"}}}
	}, "PodSecurity", "spec.securityContext.sysctls[kernel.msgmax] exceeds what pod security baseline allows" + cureOfPod + cureOfPodSecurity, standard},
	"privileged volumes": {withVolume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}),
		"PodSecurity", "spec.volumes[v].hostPath is set: the pod would see the files of a node of the provider" + cureOfPod + cureOfPodSecurity, standard},
	"containers": {func(pod *corev1.Pod, _ *Provider) {
		pod.Spec.InitContainers = []corev1.Container{{Name: "i", Ports: []corev1.ContainerPort{{HostPort: 80}}}}
	}, "PodSecurity", "spec.initContainers[i].ports.hostPort exceeds what pod security baseline allows" + cureOfPod + cureOfPodSecurity, standard},
	"inline volumes": {withVolume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}),
		"VolumeNotAllowed", "spec.volumes[v].nfs: the provider does not allow inline volumes of this type; use a PersistentVolumeClaim, " +
			"or ask its administrator for it (volumeTypes in ConfigMap spillway-provider/limits); or, to run the pod on the consumer's own nodes, " +
			"recreate it with podOffloadingStrategy LocalAndRemote", provider},
	"quantities": {func(pod *corev1.Pod, _ *Provider) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1e21")}
	}, "QuantityOutOfBounds", "spec.containers[web].resources.requests.cpu has more than 40 characters, or an exponent beyond 18" + cureOfQuantity, provider},
	"RuntimeClass": {func(pod *corev1.Pod, _ *Provider) { pod.Spec.RuntimeClassName = ptr.To("runsc") },
		"ClassNotMapped", `spec.runtimeClassName: the ClusterBinding does not map RuntimeClass "runsc"; ask the platform engineer to add it to spec.classes, ` +
			"or keep the pod on the consumer's own nodes with a node affinity spillway.io/node-type DoesNotExist", provider},
	"ServiceAccount": {func(pod *corev1.Pod, in *Provider) {
		pod.Spec.ServiceAccountName = "s3"
		in.Accounts = field.Accounts{{Namespace: "team", Name: "s3", RemoteName: "s3-reader"}}
		in.TargetFor = func(namespace string) field.Target { return field.Target{Namespace: namespace + "-eu"} }
	}, "AccountNotAllowed", "spec.serviceAccountName: the provider does not allow pods to run as ServiceAccount team-eu/s3-reader, to which spec.serviceAccounts of the ClusterBinding maps it; " +
		"ask the provider's administrator for it (serviceAccounts in ConfigMap spillway-provider/limits)", provider},
	"classes": {func(pod *corev1.Pod, in *Provider) {
		pod.Spec.PriorityClassName = "x"
		in.Has = func(v1alpha1.ClassKind, string) field.Presence { return field.ClassMissing }
	}, "ClassMissing", `spec.priorityClassName: the provider has no PriorityClass "batch", to which spec.classes of the ClusterBinding maps it; ` +
		"ask the platform engineer to correct that, or the provider's administrator to create the class", provider},
}

// TestChecks: each check refuses a pod that passes the earlier ones, and is skipped if too little is known. If
// two checks apply, the pod reports the first in the list.
func TestChecks(t *testing.T) {
	for i, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			one, ok := examples[c.name]
			if !ok {
				t.Fatal("no pod shows what it refuses")
			}
			want := field.Problem{Reason: one.reason, Message: one.message}
			pod, in := apply(t, one)
			if got := Refusal(pod, in); got == nil || *got != want {
				t.Errorf("got %v, want %v", got, &want)
			}
			if got := NeverSent(pod); (got != nil) != (one.scope == podAlone) {
				t.Errorf("before anything is known about the provider: %v", got)
			}
			if got := BaselineRefusal(pod); (got != nil) != (one.scope <= standard) {
				t.Errorf("if the provider grants baseline: %v", got)
			}
			for _, earlier := range checks[:i] {
				if got := earlier.refuse(pod, in); got != nil {
					t.Errorf("%s: got %v", earlier.name, got)
				}
			}
			for _, later := range checks[i+1:] {
				pod, in := apply(t, examples[later.name], one)
				if got := Refusal(pod, in); got == nil || *got != want {
					t.Errorf("with %s, too: got %v, want %v", later.name, got, &want)
				}
			}
		})
	}
}

// apply returns a pod and a provider to which the checks of these examples apply.
func apply(t *testing.T, examples ...example) (*corev1.Pod, Provider) {
	t.Helper()
	pod, in := fieldtest.PodOf(t, `{spec: {containers: [{name: web}]}}`), Provider{Limits: &field.Limits{VolumeTypes: []string{"csi"}}, Classes: fieldtest.Classes}
	for _, example := range examples {
		example.change(pod, &in)
	}
	return pod, in
}
