package pod

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// inPod returns a subject that is somewhere in a pod.
func inPod[T any](fields field.Decisions, where func(*corev1.Pod) *T) fieldtest.Subject {
	return inPodOf(`
spec:
  securityContext: {}
  initContainers: [{name: init}]
  containers: [{name: web, securityContext: {}, envFrom: [{}], env: [{name: e, valueFrom: {}}]}]
  volumes: [{name: v}, {name: p, projected: {sources: [{}]}}]`, fields, where)
}

// inPodOf returns a subject that is somewhere in a pod of this manifest.
func inPodOf[T any](manifest string, fields field.Decisions, where func(*corev1.Pod) *T) fieldtest.Subject {
	around := decide.Inputs{
		Limits:    fieldtest.Generous,
		NodesHave: func(*corev1.Pod, string) (some, all, known bool) { return true, true, true },
		Peers: func() []decide.PeerNamespace {
			return []decide.PeerNamespace{{Labels: map[string]string{corev1.LabelMetadataName: "x", "team": "b"}, Remote: "x-eu"}}
		},
	}
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *corev1.Pod {
		t.Helper()
		return fieldtest.PodOf(t, manifest)
	}, where, func(local *corev1.Pod) (*corev1.Pod, *field.Problem) {
		if refusal := accept.Refusal(local, accept.Provider{Limits: fieldtest.Generous, Classes: fieldtest.Classes}); refusal != nil {
			return nil, refusal
		}
		remote := ToRemote(local, fieldtest.Mapped, fieldtest.Generous, fieldtest.Classes)
		runAs(remote, local, field.Accounts{{Namespace: local.Namespace, Name: "x", RemoteName: "reader"}}, fieldtest.Generous)
		place(remote, local, fieldtest.Mapped, around)
		return remote, nil
	}, nil)}
}

func TestPodFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"PodSpec": inPod(accept.PodSpecFields, func(p *corev1.Pod) *corev1.PodSpec { return &p.Spec }),
		"PodSecurityContext": inPod(accept.PodSecurityContextFields, func(p *corev1.Pod) *corev1.PodSecurityContext {
			return p.Spec.SecurityContext
		}),
		"Container":        inPod(accept.ContainerFields, func(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }),
		"Container (init)": inPod(accept.ContainerFields, func(p *corev1.Pod) *corev1.Container { return &p.Spec.InitContainers[0] }),
		"SecurityContext": inPod(accept.SecurityContextFields, func(p *corev1.Pod) *corev1.SecurityContext {
			return p.Spec.Containers[0].SecurityContext
		}),
		"EnvVarSource":  inPod(accept.EnvVarSourceFields, func(p *corev1.Pod) *corev1.EnvVarSource { return p.Spec.Containers[0].Env[0].ValueFrom }),
		"EnvFromSource": inPod(accept.EnvFromSourceFields, func(p *corev1.Pod) *corev1.EnvFromSource { return &p.Spec.Containers[0].EnvFrom[0] }),
		"Volume":        inPod(accept.VolumeFields, func(p *corev1.Pod) *corev1.Volume { return &p.Spec.Volumes[0] }),
		"VolumeSource":  inPod(accept.VolumeSourceFields, func(p *corev1.Pod) *corev1.VolumeSource { return &p.Spec.Volumes[0].VolumeSource }),
		"VolumeProjection": inPod(accept.VolumeProjectionFields, func(p *corev1.Pod) *corev1.VolumeProjection {
			return &p.Spec.Volumes[1].Projected.Sources[0]
		}),
		"TopologySpreadConstraint": inPodOf(`spec: {topologySpreadConstraints: [{topologyKey: x, labelSelector: {}}]}`,
			accept.TopologySpreadConstraintFields, func(p *corev1.Pod) *corev1.TopologySpreadConstraint { return &p.Spec.TopologySpreadConstraints[0] }),
		"PodAffinityTerm": inPodOf(`spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: x, labelSelector: {}}]}}}`,
			accept.PodAffinityTermFields, func(p *corev1.Pod) *corev1.PodAffinityTerm {
				return &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
			}),
		"EphemeralContainer":       {Kind: reflect.TypeFor[corev1.EphemeralContainer](), Fields: accept.EphemeralContainerFields},
		"EphemeralContainerCommon": {Kind: reflect.TypeFor[corev1.EphemeralContainerCommon](), Fields: accept.ContainerFields},
	})
}
