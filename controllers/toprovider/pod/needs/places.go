package needs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
)

// kind is the kind of object that a name in a pod refers to.
type kind int

const (
	configMap kind = iota
	secret
	claim
)

// NamePlace is a field in a pod that names another object.
type NamePlace struct {
	kind     kind
	Name     *string
	optional bool
}

// NamePlaces returns all fields in a pod that name ConfigMaps, Secrets and claims. No other list
// exists, so every object that gets another name is also sent. It skips the injected service account
// token. It also skips the root certificate: every namespace of the provider has one of that name, so
// it is neither sent nor renamed.
func NamePlaces(spec *corev1.PodSpec) []NamePlace {
	var places []NamePlace
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; !accept.IsInjectedToken(v) {
			places = append(places, volumeNamePlaces(&v.VolumeSource)...)
		}
	}
	for _, c := range AllContainers(spec) {
		places = append(places, containerNamePlaces(c)...)
	}
	for i := range spec.ImagePullSecrets {
		// A kubelet starts a pod even if a pull secret does not exist.
		places = append(places, NamePlace{secret, &spec.ImagePullSecrets[i].Name, true})
	}
	return slices.DeleteFunc(places, func(place NamePlace) bool {
		return place.kind == configMap && *place.Name == field.RootCertificate
	})
}

func volumeNamePlaces(v *corev1.VolumeSource) []NamePlace {
	switch {
	case v.ConfigMap != nil:
		return []NamePlace{{configMap, &v.ConfigMap.Name, ptr.Deref(v.ConfigMap.Optional, false)}}
	case v.Secret != nil:
		return []NamePlace{{secret, &v.Secret.SecretName, ptr.Deref(v.Secret.Optional, false)}}
	case v.PersistentVolumeClaim != nil:
		return []NamePlace{{claim, &v.PersistentVolumeClaim.ClaimName, false}}
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		return []NamePlace{{secret, &v.CSI.NodePublishSecretRef.Name, false}}
	case v.ISCSI != nil && v.ISCSI.SecretRef != nil:
		return []NamePlace{{secret, &v.ISCSI.SecretRef.Name, false}}
	case v.Projected != nil:
		return projectedNamePlaces(v.Projected.Sources)
	}
	return nil
}

func projectedNamePlaces(sources []corev1.VolumeProjection) []NamePlace {
	var places []NamePlace
	for i := range sources {
		if s := sources[i].ConfigMap; s != nil {
			places = append(places, NamePlace{configMap, &s.Name, ptr.Deref(s.Optional, false)})
		}
		if s := sources[i].Secret; s != nil {
			places = append(places, NamePlace{secret, &s.Name, ptr.Deref(s.Optional, false)})
		}
	}
	return places
}

func containerNamePlaces(c *corev1.Container) []NamePlace {
	var places []NamePlace
	for i := range c.EnvFrom {
		if r := c.EnvFrom[i].ConfigMapRef; r != nil {
			places = append(places, NamePlace{configMap, &r.Name, ptr.Deref(r.Optional, false)})
		}
		if r := c.EnvFrom[i].SecretRef; r != nil {
			places = append(places, NamePlace{secret, &r.Name, ptr.Deref(r.Optional, false)})
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if r := from.ConfigMapKeyRef; r != nil {
			places = append(places, NamePlace{configMap, &r.Name, ptr.Deref(r.Optional, false)})
		}
		if r := from.SecretKeyRef; r != nil {
			places = append(places, NamePlace{secret, &r.Name, ptr.Deref(r.Optional, false)})
		}
	}
	return places
}

// AllContainers returns the containers of every kind. An ephemeral container has all fields of the
// others.
func AllContainers(spec *corev1.PodSpec) []*corev1.Container {
	var all []*corev1.Container
	for i := range spec.InitContainers {
		all = append(all, &spec.InitContainers[i])
	}
	for i := range spec.Containers {
		all = append(all, &spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		all = append(all, (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return all
}
