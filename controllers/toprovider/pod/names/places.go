// Package names finds the fields of a pod that name other objects.
package names

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

// Kind is the kind of object that a name in a pod refers to.
type Kind int

// The kinds.
const (
	ConfigMap Kind = iota
	Secret
	Claim
)

// Place is a field in a pod that names another object.
type Place struct {
	Kind Kind
	Name *string
	// Optional reports that the pod starts without the object.
	Optional bool
}

// Places returns all fields in a pod that name ConfigMaps, Secrets and claims. No other list
// exists, so every object that gets another name is also sent. It skips the injected service account
// token. It also skips the root certificate: every namespace of the provider has one of that name, so
// it is neither sent nor renamed.
func Places(spec *corev1.PodSpec) []Place {
	var places []Place
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; !token.IsInjected(v) {
			places = append(places, volumePlaces(&v.VolumeSource)...)
		}
	}
	for _, c := range AllContainers(spec) {
		places = append(places, Of(c)...)
	}
	for i := range spec.ImagePullSecrets {
		// A kubelet starts a pod even if a pull secret does not exist.
		places = append(places, Place{Secret, &spec.ImagePullSecrets[i].Name, true})
	}
	return slices.DeleteFunc(places, func(place Place) bool {
		return place.Kind == ConfigMap && *place.Name == field.RootCertificate
	})
}

func volumePlaces(v *corev1.VolumeSource) []Place {
	switch {
	case v.ConfigMap != nil:
		return []Place{{ConfigMap, &v.ConfigMap.Name, ptr.Deref(v.ConfigMap.Optional, false)}}
	case v.Secret != nil:
		return []Place{{Secret, &v.Secret.SecretName, ptr.Deref(v.Secret.Optional, false)}}
	case v.PersistentVolumeClaim != nil:
		return []Place{{Claim, &v.PersistentVolumeClaim.ClaimName, false}}
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		return []Place{{Secret, &v.CSI.NodePublishSecretRef.Name, false}}
	case v.ISCSI != nil && v.ISCSI.SecretRef != nil:
		return []Place{{Secret, &v.ISCSI.SecretRef.Name, false}}
	case v.Projected != nil:
		return projectedPlaces(v.Projected.Sources)
	}
	return nil
}

func projectedPlaces(sources []corev1.VolumeProjection) []Place {
	var places []Place
	for i := range sources {
		if s := sources[i].ConfigMap; s != nil {
			places = append(places, Place{ConfigMap, &s.Name, ptr.Deref(s.Optional, false)})
		}
		if s := sources[i].Secret; s != nil {
			places = append(places, Place{Secret, &s.Name, ptr.Deref(s.Optional, false)})
		}
	}
	return places
}

// Of returns the fields in a container that name ConfigMaps and Secrets.
func Of(c *corev1.Container) []Place {
	var places []Place
	for i := range c.EnvFrom {
		if r := c.EnvFrom[i].ConfigMapRef; r != nil {
			places = append(places, Place{ConfigMap, &r.Name, ptr.Deref(r.Optional, false)})
		}
		if r := c.EnvFrom[i].SecretRef; r != nil {
			places = append(places, Place{Secret, &r.Name, ptr.Deref(r.Optional, false)})
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if r := from.ConfigMapKeyRef; r != nil {
			places = append(places, Place{ConfigMap, &r.Name, ptr.Deref(r.Optional, false)})
		}
		if r := from.SecretKeyRef; r != nil {
			places = append(places, Place{Secret, &r.Name, ptr.Deref(r.Optional, false)})
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
