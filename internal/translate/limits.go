package translate

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Limits say what the provider's administrator allows beyond what Spillway needs. They are in the
// ConfigMap spillway-provider/limits. The provider's policies refuse everything else. The manager
// checks it first to give a reason.
type Limits struct {
	// Unknown says why nothing is sent, because the limits are missing or invalid. Otherwise it is nil.
	Unknown *field.Problem
	// Profile describes the limits for people: confined, trusted, or confined with the keys that allow
	// everything. It is empty if they are unknown.
	Profile string
	// PodSecurity is the pod security standard that new remote namespaces enforce.
	PodSecurity standard
	// VolumeTypes are the types of volumes that pods may describe inline.
	VolumeTypes []string
	// TolerationKeys are the keys of taints that pods may tolerate. All stands for every taint. It also
	// allows tolerations without a key.
	TolerationKeys []string
	// MetadataKeys are the keys, or their domains, of labels and annotations that are sent. Keys
	// without a domain are always sent. All stands for every key. ReservedKeys are never sent.
	MetadataKeys, ReservedKeys []string
	// LoadBalancerClasses are the load balancer classes that Services may have. "default" stands for
	// none, and All for every class.
	LoadBalancerClasses []string
	// IngressClasses are the classes that Ingresses may have. Gateways are the Gateways that routes may
	// have, as namespace/name. IngressHosts are the hosts of both; see HostsFor. All stands for
	// everything.
	IngressClasses, Gateways, IngressHosts []string
	// EndpointCIDRs are the ranges from which EndpointSlices may have addresses.
	EndpointCIDRs []netip.Prefix
}

// LimitRefusal says why a provider with these limits does not accept the pod, or returns nil.
func LimitRefusal(pod *corev1.Pod, limits *Limits) *field.Problem {
	if limits.Unknown != nil {
		return limits.Unknown
	}
	if refusal := podRefusal(pod, limits.PodSecurity); refusal != nil {
		return refusal.With(cureOfPodSecurity)
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if kind := describedType(&v.VolumeSource); kind != "" && !slices.Contains(limits.VolumeTypes, kind) {
			return field.Refuse(ReasonVolumeNotAllowed, "spec.volumes[%s].%s: the provider does not allow inline volumes of this type; "+
				"use a PersistentVolumeClaim, or ask its administrator for it (%s in ConfigMap spillway-provider/limits); "+
				"or, to run the pod on the consumer's own nodes, recreate it with podOffloadingStrategy LocalAndRemote",
				v.Name, kind, limitVolumeTypes)
		}
	}
	return podQuantities(&pod.Spec).With(cureOfQuantity)
}

// DescribedVolumes returns a label for each type of volume that the pod describes inline, each once, in
// the order of describable. Virtual nodes have these labels if their providers allow the type. The
// admission policy makes pods require the labels if the pods may also run on the consumer's own nodes.
func DescribedVolumes(pod *corev1.Pod) []string {
	var keys []string
	for _, kind := range describable {
		if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return describedType(&v.VolumeSource) == kind }) {
			keys = append(keys, v1alpha1.LabelVolumePrefix+kind)
		}
	}
	return keys
}

// describedType returns the type of a network volume that the pod describes inline, or "".
func describedType(v *corev1.VolumeSource) string {
	switch {
	case v.NFS != nil:
		return "nfs"
	case v.ISCSI != nil:
		return "iscsi"
	case v.FC != nil:
		return "fc"
	case v.CSI != nil:
		return "csi"
	}
	return ""
}

// Withheld lists the tolerations, labels and annotations that the remote pod lacks because of the
// limits. It omits the toleration for virtual nodes. The pod runs without them.
func Withheld(local, remote *corev1.Pod, limits *Limits) []string {
	var all []string
	for i := range local.Spec.Tolerations {
		t := &local.Spec.Tolerations[i]
		if toleratesVirtualNode(*t) || everyPodHas(t) || hasToleration(remote.Spec.Tolerations, t) {
			continue
		}
		what := "the toleration of every taint"
		if t.Key != "" {
			what = "the toleration of " + t.Key
		}
		all = append(all, what+": the provider does not allow it ("+limitTolerationKeys+" in ConfigMap spillway-provider/limits)")
	}
	if keys := withheldKeys(local, remote, limits); keys != "" {
		all = append(all, keys)
	}
	return all
}

// tolerates reports whether a toleration may be sent. It may be if the provider offers the taint, or
// the taint keeps no pod off a node. The two tolerations that Kubernetes adds to each pod may also be
// sent.
func (l *Limits) tolerates(t *corev1.Toleration) bool {
	switch {
	case t.Key == "":
		return slices.Contains(l.TolerationKeys, All)
	case t.Effect == corev1.TaintEffectPreferNoSchedule:
		return true
	case t.Effect == corev1.TaintEffectNoExecute && (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable):
		return true
	}
	return listsOrAll(l.TolerationKeys, t.Key)
}

// allowedTolerations returns the tolerations that may be sent. It leaves out the toleration for virtual
// nodes, and those for taints that the provider does not offer. Tolerations in there, which the remote
// pod already has, stay. Kubernetes cannot remove them, so nothing is written about them.
func allowedTolerations(tolerations, there []corev1.Toleration, limits *Limits) []corev1.Toleration {
	withheld := func(t corev1.Toleration) bool {
		return toleratesVirtualNode(t) || !limits.tolerates(&t) && !hasToleration(there, &t)
	}
	if !slices.ContainsFunc(tolerations, withheld) {
		return tolerations
	}
	return slices.DeleteFunc(slices.Clone(tolerations), withheld)
}

// everyPodHas reports whether a toleration is one of the two that Kubernetes adds to each pod that
// lacks them. The provider adds them, too, so a pod with no others is sent without tolerations. If a
// pod is sent with tolerations, the provider's policy cannot tell them from those that its own
// admission adds, such as for nodes with a GPU.
func everyPodHas(t *corev1.Toleration) bool {
	return (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) && t.Effect == corev1.TaintEffectNoExecute &&
		t.Operator == corev1.TolerationOpExists && t.TolerationSeconds != nil && *t.TolerationSeconds == 300
}

func hasToleration(all []corev1.Toleration, wanted *corev1.Toleration) bool {
	return slices.ContainsFunc(all, func(t corev1.Toleration) bool { return equality.Semantic.DeepEqual(&t, wanted) })
}
