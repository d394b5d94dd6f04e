package kind

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// Sample is an object of a kind, with changes for tests. Every kind has one. The tests in test/kinds check
// the same promises for all kinds, and know nothing else about them.
type Sample[T decide.Object] struct {
	// Object is what its owner creates.
	Object T
	// With are created after Object, in this order: the objects that cause it to be sent, and those that it
	// needs.
	With []decide.Object
	// Shows returns the part of an object that is the same in both clusters.
	Shows func(T) string
	// Change is a change by the owner that must arrive in the provider.
	Change func(local T)
	// Drift is a change by somebody in the provider that Spillway must correct.
	Drift func(remote T)
	// Hostile writes a word to every part of a remote object, status included, that a provider may write and
	// that must not reach the consumer.
	Hostile func(remote T, word string)
	// Report, if set, is a change of the status in the provider that must reach the consumer. Reported
	// returns the part of an object that shows it.
	Report   func(remote T)
	Reported func(T) string
	// Lost, if set, reports whether a local object says that somebody else deleted the remote one. If it is
	// not set, the remote object is recreated.
	Lost func(local T) bool
}

// Any returns the sample as a sample of any kind.
func (s Sample[T]) Any() Sample[decide.Object] {
	return Sample[decide.Object]{
		Object: s.Object, With: s.With,
		Shows: text(s.Shows), Change: change(s.Change), Drift: change(s.Drift),
		Hostile: func(remote decide.Object, word string) { s.Hostile(remote.(T), word) },
		Report:  change(s.Report), Reported: text(s.Reported), Lost: lost(s.Lost),
	}
}

func text[T decide.Object](f func(T) string) func(decide.Object) string {
	if f == nil {
		return nil
	}
	return func(obj decide.Object) string { return f(obj.(T)) }
}

func change[T decide.Object](f func(T)) func(decide.Object) {
	if f == nil {
		return nil
	}
	return func(obj decide.Object) { f(obj.(T)) }
}

func lost[T decide.Object](f func(T) bool) func(decide.Object) bool {
	if f == nil {
		return nil
	}
	return func(obj decide.Object) bool { return f(obj.(T)) }
}

// SampleLabel is a label of samples that their owners change.
const SampleLabel = "sample"

// SampleCIDR is the range of all addresses in samples. SampleBalancer is the class of load balancers,
// SampleIngressClass the class of Ingresses, and SampleGateway the Gateway of routes. SampleDomain is the
// parent domain of all hosts.
const (
	SampleCIDR         = "192.0.2.0/24"
	SampleBalancer     = "example.com/balancer"
	SampleIngressClass = "example"
	SampleGateway      = "gateways/example"
	SampleDomain       = "sample.example.com"
)

// SampleLimits are the limits for samples in the providers of tests.
var SampleLimits = map[string]string{
	"endpointCIDRs": SampleCIDR, "loadBalancerClasses": SampleBalancer, "ingressClasses": SampleIngressClass, "gateways": SampleGateway, "ingressHosts": "*." + SampleDomain,
}

// SampleClasses returns the classes that the ClusterBindings of tests map. Each maps to the same name.
func SampleClasses() []v1alpha1.ClassMapping {
	return []v1alpha1.ClassMapping{
		{Kind: v1alpha1.ClassLoadBalancer, Name: SampleBalancer, RemoteName: SampleBalancer},
		{Kind: v1alpha1.ClassIngress, Name: SampleIngressClass, RemoteName: SampleIngressClass},
		{Kind: v1alpha1.ClassGateway, Name: SampleGateway, RemoteName: SampleGateway},
	}
}

// SampleMeta returns the metadata of a sample.
func SampleMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{SampleLabel: "created"}}
}

// SamplePod returns a pod on a node, which may need volumes.
func SamplePod(namespace, name, node string, needs ...corev1.VolumeSource) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: SampleMeta(namespace, name),
		Spec: corev1.PodSpec{
			NodeName:                      node,
			Containers:                    []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
			TerminationGracePeriodSeconds: ptr.To[int64](30),
		},
	}
	for _, source := range needs {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "needed", VolumeSource: source})
	}
	return pod
}

const (
	sampleClass = "example"
	sampleSize  = "1Gi"
)

// SampleClaim returns a claim for the volume with the same name.
func SampleClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: SampleMeta(namespace, name),
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: name, StorageClassName: ptr.To(sampleClass), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(sampleSize)}},
		},
	}
}

// SampleVolume returns a volume for the claim with the same name.
func SampleVolume(namespace, name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: SampleMeta("", name),
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: sampleClass, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(sampleSize)},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/data"}},
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: name},
		},
	}
}

// SampleClaimSource returns a volume source for the claim with that name.
func SampleClaimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// HostileMeta writes a word to the metadata of a remote object.
func HostileMeta(remote decide.Object, word string) {
	remote.SetLabels(decide.With(remote.GetLabels(), "example.com/hostile", word))
	remote.SetAnnotations(decide.With(remote.GetAnnotations(), "example.com/hostile", word))
}
