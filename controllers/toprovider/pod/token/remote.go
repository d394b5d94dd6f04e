package token

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// The variables by which programs find the API server. A kubelet sets them to its own API server, unless the
// pod sets them.
const (
	variableHost  = "KUBERNETES_SERVICE_HOST"
	variablePort  = "KUBERNETES_SERVICE_PORT"
	variableHTTPS = "KUBERNETES_SERVICE_PORT_HTTPS"
)

// Uses reports whether a remote pod mounts the tokens of the local pod with that UID.
func Uses(remote *corev1.PodSpec, local types.UID) bool {
	name := field.TokenSecretName(local)
	return slices.ContainsFunc(remote.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.Secret != nil && s.Secret.Name == name })
	})
}

// Mount makes a remote pod use the consumer's API: with the tokens of the local pod with that UID, at the place
// that api names. remote must have the volumes of the local pod, with the names of the remote objects.
func Mount(remote *corev1.PodSpec, local types.UID, api *v1alpha1.ConsumerAPI) {
	secret := field.TokenSecretName(local)
	for i := range remote.Volumes {
		mountIn(&remote.Volumes[i], secret)
	}
	port := strconv.Itoa(int(api.Port))
	variables := []corev1.EnvVar{{Name: variableHost, Value: api.Host}, {Name: variablePort, Value: port}, {Name: variableHTTPS, Value: port}}
	for i := range remote.InitContainers {
		setVariables(&remote.InitContainers[i].Env, variables)
	}
	for i := range remote.Containers {
		setVariables(&remote.Containers[i].Env, variables)
	}
	if api.IP != "" {
		remote.HostAliases = append(remote.HostAliases, corev1.HostAlias{IP: api.IP, Hostnames: []string{api.Host}})
	}
}

// mountIn replaces the tokens in a volume by those of the Secret. The root certificate beside a token is for the
// same API server.
func mountIn(v *corev1.Volume, secret string) {
	if len(sourcesOf(v)) == 0 {
		return
	}
	from := func(key, path string) *corev1.SecretProjection {
		return &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Items: []corev1.KeyToPath{{Key: key, Path: path}},
		}
	}
	sources := v.Projected.Sources
	for i := range sources {
		s := &sources[i]
		switch {
		case s.ServiceAccountToken != nil:
			s.Secret, s.ServiceAccountToken = from(Wanted{Audience: s.ServiceAccountToken.Audience}.Key(), s.ServiceAccountToken.Path), nil
		case s.ConfigMap != nil && s.ConfigMap.Name == field.RootCertificate:
			files := s.ConfigMap.Items
			s.Secret, s.ConfigMap = from(KeyAuthority, KeyAuthority), nil
			if len(files) > 0 {
				s.Secret.Items = files
			}
		}
	}
}

// setVariables puts the variables before a container's own, which may refer to them. What the container sets
// itself stays.
func setVariables(own *[]corev1.EnvVar, variables []corev1.EnvVar) {
	missing := slices.DeleteFunc(slices.Clone(variables), func(v corev1.EnvVar) bool {
		return slices.ContainsFunc(*own, func(o corev1.EnvVar) bool { return o.Name == v.Name })
	})
	if len(missing) > 0 {
		*own = append(missing, *own...)
	}
}

// MountLater gives an ephemeral container the variables that the remote pod's containers have.
func MountLater(c *corev1.EphemeralContainer, remote *corev1.PodSpec) {
	var variables []corev1.EnvVar
	for _, name := range []string{variableHost, variablePort, variableHTTPS} {
		for i := range remote.Containers {
			if v := field.First(remote.Containers[i].Env, func(v *corev1.EnvVar) bool { return v.Name == name && v.ValueFrom == nil }); v != nil {
				variables = append(variables, *v)
				break
			}
		}
	}
	setVariables(&c.Env, variables)
}
