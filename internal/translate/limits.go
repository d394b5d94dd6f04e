package translate

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Limits are what the provider's administrator allows pods beyond what Spillway needs,
// in the ConfigMap spillway-provider/limits. The provider's policies refuse what they
// do not allow; checking it here first gives a reason.
type Limits struct {
	// Unknown is why nothing is sent: the limits are missing or invalid. Otherwise nil.
	Unknown *field.Problem
	// Profile is what they are like, for people: confined, trusted, or confined with the keys
	// that allow everything. Empty if they are unknown.
	Profile string
	// PodSecurity is the pod security standard that new remote namespaces enforce.
	PodSecurity standard
	// VolumeTypes are those that pods may describe inline.
	VolumeTypes []string
	// TolerationKeys are the keys of taints that pods may tolerate; All stands for every
	// taint there is, and lets pods tolerate them without a key.
	TolerationKeys []string
	// MetadataKeys are the keys, or their domains, of labels and annotations that are sent
	// besides those without a domain; All stands for each. ReservedKeys are never sent.
	MetadataKeys, ReservedKeys []string
	// LoadBalancerClasses are those that Services may have: classes; "default", which stands
	// for none; or All.
	LoadBalancerClasses []string
	// IngressClasses are those that Ingresses may have, Gateways those that routes may have, by
	// namespace and name, and IngressHosts the hosts of both; see HostsFor. All stands for each.
	IngressClasses, Gateways, IngressHosts []string
	// EndpointCIDRs are the ranges that the addresses of EndpointSlices are in.
	EndpointCIDRs []netip.Prefix
}

// LimitRefusal says why a provider with these limits does not take the pod, or is nil.
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
			return field.Refuse(ReasonVolumeNotAllowed, "spec.volumes[%s].%s: the provider does not allow pods to describe volumes of this type; "+
				"use a PersistentVolumeClaim, or ask its administrator for it (%s in ConfigMap spillway-provider/limits); "+
				"or, to have the pod run on the consumer's own nodes, make it anew with podOffloadingStrategy LocalAndRemote in effect",
				v.Name, kind, limitVolumeTypes)
		}
	}
	return podQuantities(&pod.Spec).With(cureOfQuantity)
}

// DescribedVolumes are the labels of the virtual nodes whose providers let pods describe
// the volumes that this one does, each once, in the order of describable. The admission
// policy has those pods require them that may run on the consumer's own nodes, too.
func DescribedVolumes(pod *corev1.Pod) []string {
	var keys []string
	for _, kind := range describable {
		if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return describedType(&v.VolumeSource) == kind }) {
			keys = append(keys, v1alpha1.LabelVolumePrefix+kind)
		}
	}
	return keys
}

// describedType is the type of a network volume that the pod describes inline, or
// empty.
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

// Withheld lists what the remote pod lacks because of the limits: tolerations, except
// the one that brings pods onto virtual nodes, and labels and annotations. The pod runs
// without them.
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
		all = append(all, what+": the provider has not offered that ("+limitTolerationKeys+" in ConfigMap spillway-provider/limits)")
	}
	if keys := withheldKeys(local, remote, limits); keys != "" {
		all = append(all, keys)
	}
	return all
}

// tolerates reports whether a toleration may be sent: its taint is offered by the
// provider, or keeps no pod off a node, or it is one of the two that Kubernetes gives
// to each pod.
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

// allowedTolerations leave out the one that brings pods onto virtual nodes, and those
// of taints that the provider has not offered. Those that the remote pod already has
// stay: they cannot be removed, so nothing is written about them.
func allowedTolerations(tolerations, there []corev1.Toleration, limits *Limits) []corev1.Toleration {
	withheld := func(t corev1.Toleration) bool {
		return toleratesVirtualNode(t) || !limits.tolerates(&t) && !hasToleration(there, &t)
	}
	if !slices.ContainsFunc(tolerations, withheld) {
		return tolerations
	}
	return slices.DeleteFunc(slices.Clone(tolerations), withheld)
}

// everyPodHas reports whether a toleration is one of the two that Kubernetes gives to
// each pod which lacks them, as the provider will. A pod that has no others is sent
// without: of tolerations that were sent, the provider's policy cannot tell which ones
// its own admission has added, such as that of nodes with a GPU.
func everyPodHas(t *corev1.Toleration) bool {
	return (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) && t.Effect == corev1.TaintEffectNoExecute &&
		t.Operator == corev1.TolerationOpExists && t.TolerationSeconds != nil && *t.TolerationSeconds == 300
}

func hasToleration(all []corev1.Toleration, wanted *corev1.Toleration) bool {
	return slices.ContainsFunc(all, func(t corev1.Toleration) bool { return equality.Semantic.DeepEqual(&t, wanted) })
}
