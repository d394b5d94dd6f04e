package test

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// The names and contents of the objects of the test.
const (
	web      = "web"
	claimant = "claimant"
	port     = 8080
	key      = "message"
	mount    = "/settings"
	said     = "spillway-test runs"
)

// home returns the namespace of the test.
func home(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{cli.LabelManagedBy: cli.Owner}}}
}

// offloading sends the namespace to one provider only.
func offloading(clusterID string) *v1alpha1.NamespaceOffloading {
	return &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.OffloadingName},
		Spec: v1alpha1.NamespaceOffloadingSpec{
			PodOffloadingStrategy: v1alpha1.PodsRemote,
			ClusterSelector: &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{MatchExpressions: []v1alpha1.ClusterSelectorRequirement{
				{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpIn, Values: []string{clusterID}},
			}}}},
		},
	}
}

func settings(nonce string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: own(web), Data: map[string]string{key: nonce}}
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: own(web), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": web}, Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt32(port)}},
	}}
}

// policy lets everybody reach the port of the pod, and nothing else.
func policy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: own(web), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": web}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(port))}}}},
	}}
}

// nobody is the user of the pod by default: many images, such as busybox, have none of their own.
const nobody = 65534

// newPod complies with the pod security level restricted. user may be nil, for the image's or the provider's.
func newPod(image, name, script string, user *int64) *corev1.Pod {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	return &corev1.Pod{ObjectMeta: own(name), Spec: corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](1),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: web, Image: image, Command: []string{"sh", "-c", "echo " + said + "; " + script}, Resources: corev1.ResourceRequirements{Requests: size, Limits: size},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}}
}

// webPod serves the ConfigMap at its port.
func webPod(image string, user *int64) *corev1.Pod {
	pod := newPod(image, web, "exec httpd -f -p 8080 -h "+mount, user)
	mounted(pod, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: web}}})
	return pod
}

func claimantPod(image string, user *int64) *corev1.Pod {
	pod := newPod(image, claimant, "exec sleep 3600", user)
	mounted(pod, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimant}})
	return pod
}

func mounted(pod *corev1.Pod, source corev1.VolumeSource) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: source}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: mount}}
}

func claim(class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: own(claimant), Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}
