package translate

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// kind is the kind of object that a name in a pod refers to.
type kind int

const (
	configMap kind = iota
	secret
	claim
)

// namePlace is a place in a pod that names another object.
type namePlace struct {
	kind     kind
	name     *string
	optional bool
}

// namePlaces are all places in a pod that name ConfigMaps, Secrets and claims. This is
// the only list of them, so whatever is renamed in a pod is also sent with it. The
// injected service account token is skipped, and the root certificate, which every
// namespace of the provider has under its own name, is neither sent nor renamed.
func namePlaces(spec *corev1.PodSpec) iter.Seq[namePlace] {
	return func(each func(namePlace) bool) {
		yield := func(place namePlace) bool {
			return (place.kind == configMap && *place.name == rootCertificate) || each(place)
		}
		for i := range spec.Volumes {
			v := &spec.Volumes[i]
			if !isInjectedToken(v) && !volumeNamePlaces(&v.VolumeSource, yield) {
				return
			}
		}
		for c := range allContainers(spec) {
			if !containerNamePlaces(c, yield) {
				return
			}
		}
		for i := range spec.ImagePullSecrets {
			// A kubelet starts a pod without a pull secret that does not exist.
			if !yield(namePlace{secret, &spec.ImagePullSecrets[i].Name, true}) {
				return
			}
		}
	}
}

func volumeNamePlaces(v *corev1.VolumeSource, yield func(namePlace) bool) bool {
	switch {
	case v.ConfigMap != nil:
		return yield(namePlace{configMap, &v.ConfigMap.Name, ptr.Deref(v.ConfigMap.Optional, false)})
	case v.Secret != nil:
		return yield(namePlace{secret, &v.Secret.SecretName, ptr.Deref(v.Secret.Optional, false)})
	case v.PersistentVolumeClaim != nil:
		return yield(namePlace{claim, &v.PersistentVolumeClaim.ClaimName, false})
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		return yield(namePlace{secret, &v.CSI.NodePublishSecretRef.Name, false})
	case v.ISCSI != nil && v.ISCSI.SecretRef != nil:
		return yield(namePlace{secret, &v.ISCSI.SecretRef.Name, false})
	case v.Projected != nil:
		return projectedNamePlaces(v.Projected.Sources, yield)
	}
	return true
}

func projectedNamePlaces(sources []corev1.VolumeProjection, yield func(namePlace) bool) bool {
	for i := range sources {
		s := &sources[i]
		if s.ConfigMap != nil && !yield(namePlace{configMap, &s.ConfigMap.Name, ptr.Deref(s.ConfigMap.Optional, false)}) {
			return false
		}
		if s.Secret != nil && !yield(namePlace{secret, &s.Secret.Name, ptr.Deref(s.Secret.Optional, false)}) {
			return false
		}
	}
	return true
}

func containerNamePlaces(c *corev1.Container, yield func(namePlace) bool) bool {
	for i := range c.EnvFrom {
		from := &c.EnvFrom[i]
		if r := from.ConfigMapRef; r != nil && !yield(namePlace{configMap, &r.Name, ptr.Deref(r.Optional, false)}) {
			return false
		}
		if r := from.SecretRef; r != nil && !yield(namePlace{secret, &r.Name, ptr.Deref(r.Optional, false)}) {
			return false
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if r := from.ConfigMapKeyRef; r != nil && !yield(namePlace{configMap, &r.Name, ptr.Deref(r.Optional, false)}) {
			return false
		}
		if r := from.SecretKeyRef; r != nil && !yield(namePlace{secret, &r.Name, ptr.Deref(r.Optional, false)}) {
			return false
		}
	}
	return true
}

// allContainers are the containers of every kind. An ephemeral container has all the
// fields of the others.
func allContainers(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range spec.InitContainers {
			if !yield(&spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(&spec.Containers[i]) {
				return
			}
		}
		for i := range spec.EphemeralContainers {
			if !yield((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}
