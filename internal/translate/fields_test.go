package translate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// subject is a type with decisions, and a function that translates one of its values.
type subject struct {
	kind   reflect.Type
	fields decisions
	// translate calls set with a value, and returns what is sent. later is the same value in a copy
	// that existed before the change. It is invalid if the copy must be created again, or its kind has
	// no merge. The TestChangesFollow of such a kind says what its owner may change.
	translate func(t *testing.T, set func(reflect.Value)) (sent, later reflect.Value, _ *field.Problem)
}

// anywhereIn returns the translate function of a subject that is somewhere in an object.
func anywhereIn[T, O any](local func(*testing.T) *O, where func(*O) *T, translate func(*O) (*O, *field.Problem), merge func(desired, remote *O) (*O, bool)) func(*testing.T, func(reflect.Value)) (_, _ reflect.Value, _ *field.Problem) {
	return func(t *testing.T, set func(reflect.Value)) (sent, later reflect.Value, _ *field.Problem) {
		t.Helper()
		changed := local(t)
		set(reflect.ValueOf(where(changed)).Elem())
		desired, refusal := translate(changed)
		if refusal != nil {
			return sent, later, refusal
		}
		if before, refusal := translate(local(t)); refusal != nil {
			t.Fatal(refusal)
		} else if merge != nil {
			if merged, replace := merge(desired, before); !replace {
				later = reflect.ValueOf(where(merged)).Elem()
			}
		}
		return reflect.ValueOf(where(desired)).Elem(), later, nil
	}
}

// inPlace converts a merge that never needs the copy to be created again.
func inPlace[O any](merge func(desired, remote O) O) func(desired, remote O) (O, bool) {
	return func(desired, remote O) (O, bool) { return merge(desired, remote), false }
}

// inPod returns a subject that is somewhere in a pod.
func inPod[T any](fields decisions, where func(*corev1.Pod) *T) subject {
	return subject{reflect.TypeFor[T](), fields, anywhereIn(func(t *testing.T) *corev1.Pod {
		t.Helper()
		return podOf(t, `
spec:
  securityContext: {}
  initContainers: [{name: init}]
  containers: [{name: web, securityContext: {}, envFrom: [{}], env: [{name: e, valueFrom: {}}]}]
  volumes: [{name: v}, {name: p, projected: {sources: [{}]}}]`)
	}, where, func(local *corev1.Pod) (*corev1.Pod, *field.Problem) { return Pod(local, mapped, generous, classes) }, nil)}
}

// boundVolume is a volume with its claim.
type boundVolume struct {
	volume *corev1.PersistentVolume
	claim  *corev1.PersistentVolumeClaim
}

// inVolume returns a subject that is in a volume, or in its claim.
func inVolume[T any](fields decisions, where func(*boundVolume) *T) subject {
	return subject{reflect.TypeFor[T](), fields, anywhereIn(func(t *testing.T) *boundVolume {
		t.Helper()
		return &boundVolume{volumeOf(t, ""), claimOf(t, "")}
	}, where, func(local *boundVolume) (*boundVolume, *field.Problem) {
		local.claim.Spec.VolumeName = local.volume.Name
		local.volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: local.claim.Namespace, Name: local.claim.Name, UID: local.claim.UID}
		claim, refusal := PersistentVolumeClaim(local.claim, mapped)
		if refusal != nil {
			return nil, refusal
		}
		volume, refusal := PersistentVolume(local.volume, local.claim, mapped, places)
		return &boundVolume{volume, claim}, refusal
	}, nil)}
}

func inData[T any](fields decisions, translate func(*T, Target) (*T, *field.Problem)) subject {
	return subject{reflect.TypeFor[T](), fields, anywhereIn(func(*testing.T) *T { return new(T) }, func(all *T) *T { return all },
		func(local *T) (*T, *field.Problem) { return translate(local, mapped) }, nil)}
}

// inSlice returns a subject that is somewhere in an EndpointSlice.
func inSlice[T any](fields decisions, where func(*discoveryv1.EndpointSlice) *T) subject {
	return subject{reflect.TypeFor[T](), fields, anywhereIn(func(t *testing.T) *discoveryv1.EndpointSlice {
		t.Helper()
		return sliceOf(t, `{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{port: 80}]}`)
	}, where, func(local *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, *field.Problem) {
		local.Endpoints[0].Addresses = []string{"10.1.0.1"}
		return EndpointSlice(local, mapped, listing, "eu")
	}, MergeEndpointSlice)}
}

// inService returns a subject that is somewhere in a Service.
func inService[T any](fields decisions, where func(*corev1.Service) *T) subject {
	return subject{reflect.TypeFor[T](), fields, anywhereIn(func(t *testing.T) *corev1.Service {
		t.Helper()
		return serviceOf(t, `{type: LoadBalancer, loadBalancerClass: x, sessionAffinity: None, ports: [{port: 80}]}`)
	}, where, func(local *corev1.Service) (*corev1.Service, *field.Problem) {
		return Service(local, mapped, balancing, classes)
	}, MergeService)}
}

var subjects = map[string]subject{
	"PodSpec": inPod(podSpecFields, func(p *corev1.Pod) *corev1.PodSpec { return &p.Spec }),
	"PodSecurityContext": inPod(podSecurityContextFields, func(p *corev1.Pod) *corev1.PodSecurityContext {
		return p.Spec.SecurityContext
	}),
	"Container":        inPod(containerFields, func(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }),
	"Container (init)": inPod(containerFields, func(p *corev1.Pod) *corev1.Container { return &p.Spec.InitContainers[0] }),
	"SecurityContext": inPod(securityContextFields, func(p *corev1.Pod) *corev1.SecurityContext {
		return p.Spec.Containers[0].SecurityContext
	}),
	"EnvVarSource":  inPod(envVarSourceFields, func(p *corev1.Pod) *corev1.EnvVarSource { return p.Spec.Containers[0].Env[0].ValueFrom }),
	"EnvFromSource": inPod(envFromSourceFields, func(p *corev1.Pod) *corev1.EnvFromSource { return &p.Spec.Containers[0].EnvFrom[0] }),
	"Volume":        inPod(volumeFields, func(p *corev1.Pod) *corev1.Volume { return &p.Spec.Volumes[0] }),
	"VolumeSource":  inPod(volumeSourceFields, func(p *corev1.Pod) *corev1.VolumeSource { return &p.Spec.Volumes[0].VolumeSource }),
	"VolumeProjection": inPod(volumeProjectionFields, func(p *corev1.Pod) *corev1.VolumeProjection {
		return &p.Spec.Volumes[1].Projected.Sources[0]
	}),
	"PersistentVolumeClaimSpec": inVolume(persistentVolumeClaimSpecFields,
		func(v *boundVolume) *corev1.PersistentVolumeClaimSpec { return &v.claim.Spec }),
	"PersistentVolumeSpec": inVolume(persistentVolumeSpecFields,
		func(v *boundVolume) *corev1.PersistentVolumeSpec { return &v.volume.Spec }),
	"PersistentVolumeSource": inVolume(persistentVolumeSourceFields,
		func(v *boundVolume) *corev1.PersistentVolumeSource { return &v.volume.Spec.PersistentVolumeSource }),
	"ConfigMap": inData(configMapFields, ConfigMap),
	"Secret":    inData(secretFields, Secret),

	"ServiceSpec": inService(serviceSpecFields, func(s *corev1.Service) *corev1.ServiceSpec { return &s.Spec }),
	"ServicePort": inService(servicePortFields, func(s *corev1.Service) *corev1.ServicePort { return &s.Spec.Ports[0] }),

	"PodDisruptionBudgetSpec": {reflect.TypeFor[policyv1.PodDisruptionBudgetSpec](), disruptionBudgetSpecFields, anywhereIn(func(t *testing.T) *policyv1.PodDisruptionBudget {
		t.Helper()
		return budgetOf(t, `{status: {desiredHealthy: 1}}`)
	}, func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudgetSpec { return &b.Spec }, func(local *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, *field.Problem) {
		return PodDisruptionBudget(local, mapped, generous, 0)
	}, inPlace(MergePodDisruptionBudget))},

	"NetworkPolicySpec": inPolicy(networkPolicySpecFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicySpec { return s }),
	"NetworkPolicyIngressRule": inPolicy(networkPolicyIngressRuleFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyIngressRule {
		return &s.Ingress[0]
	}),
	"NetworkPolicyEgressRule": inPolicy(networkPolicyEgressRuleFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyEgressRule {
		return &s.Egress[0]
	}),
	"NetworkPolicyPeer": inPolicy(networkPolicyPeerFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyPeer {
		return &s.Egress[0].To[0]
	}),
	"NetworkPolicyPort": inPolicy(networkPolicyPortFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyPort {
		return &s.Ingress[0].Ports[0]
	}),
	"EndpointSlice":      inSlice(endpointSliceFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice { return s }),
	"Endpoint":           inSlice(endpointFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.Endpoint { return &s.Endpoints[0] }),
	"EndpointConditions": inSlice(endpointConditionsFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointConditions { return &s.Endpoints[0].Conditions }),
	"EndpointPort":       inSlice(endpointPortFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointPort { return &s.Ports[0] }),

	"IPBlock": inPolicy(ipBlockFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.IPBlock { return s.Ingress[0].From[0].IPBlock }),

	"IngressSpec": inIngress(ingressSpecFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressSpec { return s }),
	"IngressTLS":  inIngress(ingressTLSFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressTLS { return &s.TLS[0] }),
	"IngressRule": inIngress(ingressRuleFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressRule { return &s.Rules[0] }),
	"IngressRuleValue": inIngress(ingressRuleValueFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressRuleValue {
		return &s.Rules[0].IngressRuleValue
	}),
	"HTTPIngressRuleValue": inIngress(httpIngressRuleValueFields, func(s *networkingv1.IngressSpec) *networkingv1.HTTPIngressRuleValue { return s.Rules[0].HTTP }),
	"HTTPIngressPath":      inIngress(httpIngressPathFields, firstPath),
	"IngressBackend":       inIngress(ingressBackendFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressBackend { return &firstPath(s).Backend }),
	"IngressServiceBackend": inIngress(ingressServiceBackendFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressServiceBackend {
		return firstPath(s).Backend.Service
	}),
	"ServiceBackendPort": inIngress(serviceBackendPortFields, func(s *networkingv1.IngressSpec) *networkingv1.ServiceBackendPort {
		return &firstPath(s).Backend.Service.Port
	}),

	"HTTPRouteSpec":   inHTTPRoute(routeSpecFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteSpec { return s }),
	"GRPCRouteSpec":   inGRPCRoute(routeSpecFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteSpec { return s }),
	"CommonRouteSpec": inHTTPRoute(commonRouteSpecFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.CommonRouteSpec { return &s.CommonRouteSpec }),
	"ParentReference": inHTTPRoute(parentReferenceFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.ParentReference { return &s.ParentRefs[0] }),
	"HTTPRouteRule":   inHTTPRoute(httpRouteRuleFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteRule { return &s.Rules[0] }),
	"GRPCRouteRule":   inGRPCRoute(grpcRouteRuleFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteRule { return &s.Rules[0] }),
	"HTTPBackendRef":  inHTTPRoute(routeBackendFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPBackendRef { return &s.Rules[0].BackendRefs[0] }),
	"GRPCBackendRef":  inGRPCRoute(routeBackendFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCBackendRef { return &s.Rules[0].BackendRefs[0] }),
	"BackendRef":      inHTTPRoute(backendRefFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.BackendRef { return &s.Rules[0].BackendRefs[0].BackendRef }),
	"BackendRef (gRPC)": inGRPCRoute(backendRefFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.BackendRef {
		return &s.Rules[0].BackendRefs[0].BackendRef
	}),
	"BackendObjectReference": inHTTPRoute(backendObjectReferenceFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.BackendObjectReference {
		return &s.Rules[0].BackendRefs[0].BackendObjectReference
	}),
	"BackendObjectReference (mirror)": inHTTPRoute(backendObjectReferenceFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.BackendObjectReference {
		return &s.Rules[0].Filters[0].RequestMirror.BackendRef
	}),
	"HTTPRequestMirrorFilter": inHTTPRoute(requestMirrorFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRequestMirrorFilter {
		return s.Rules[0].Filters[0].RequestMirror
	}),
	"HTTPRouteFilter": inHTTPRoute(httpRouteFilterFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteFilter { return &s.Rules[0].Filters[0] }),
	"HTTPRouteFilter (backend)": inHTTPRoute(httpRouteFilterFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteFilter {
		return &s.Rules[0].BackendRefs[0].Filters[0]
	}),
	"GRPCRouteFilter": inGRPCRoute(grpcRouteFilterFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteFilter { return &s.Rules[0].Filters[0] }),
	"GRPCRouteFilter (backend)": inGRPCRoute(grpcRouteFilterFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteFilter {
		return &s.Rules[0].BackendRefs[0].Filters[0]
	}),

	// PodUpdate sends these: see TestEphemeralContainersAreSentWhole.
	"EphemeralContainer":       {kind: reflect.TypeFor[corev1.EphemeralContainer](), fields: ephemeralContainerFields},
	"EphemeralContainerCommon": {kind: reflect.TypeFor[corev1.EphemeralContainerCommon](), fields: containerFields},
}

func TestEveryFieldHasADecision(t *testing.T) {
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			for field := range s.kind.Fields() {
				if s.fields[field.Name].verdict == undecided {
					t.Errorf("nobody has decided about %s", field.Name)
				}
			}
			for field, d := range s.fields {
				if _, exists := s.kind.FieldByName(field); !exists {
					t.Errorf("there is a decision about %s, which does not exist", field)
				}
				if (d.verdict == refused || d.verdict == limited) != (d.reason != "") || (d.verdict == sent) != (d.why == "") {
					t.Errorf("%s: what is refused has a reason, and what is not simply sent an explanation: %+v", field, d)
				}
			}
		})
	}
}

// examples are values of fields that cannot be filled, because some parts would exclude each other or
// be refused. If only one type has such a field, the key begins with the name of the type.
var examples = map[string]string{
	"Affinity":               `{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: Exists}]}]}}}`,
	"Backend":                `{service: {name: web}}`,
	"ClusterIP":              `None`,
	"Containers":             `[{name: web}]`,
	"DefaultBackend":         `{service: {name: web}}`,
	"Egress":                 `[{to: [{podSelector: {}}]}]`,
	"From":                   `[{podSelector: {}}]`,
	"HTTP":                   `{paths: [{backend: {service: {name: web}}}]}`,
	"Ingress":                `[{from: [{podSelector: {}}]}]`,
	"IngressRuleValue":       `{http: {paths: [{backend: {service: {name: web}}}]}}`,
	"NamespaceSelector":      `{matchLabels: {team: b}}`,
	"To":                     `[{podSelector: {}}]`,
	"DownwardAPI":            `{items: [{path: p, fieldRef: {fieldPath: metadata.labels}}]}`,
	"FieldRef":               `{fieldPath: status.podIP}`,
	"InitContainers":         `[{name: init}]`,
	"NodeSelector":           `{kubernetes.io/arch: amd64}`,
	"PersistentVolumeSource": `{nfs: {server: s, path: /}}`,
	"Paths":                  `[{backend: {service: {name: web}}}]`,
	"Projected":              `{sources: [{configMap: {name: c}}]}`,
	"Rules":                  `[{host: a.example.com}]`,
	"SecurityContext":        `{runAsUser: 1}`,
	"Tolerations":            `[{key: a, operator: Exists}]`,
	"VolumeSource":           `{emptyDir: {}}`,
	"Volumes":                `[{name: v, emptyDir: {}}]`,

	"EndpointSlice/AddressType": `IPv4`,
	"EndpointSlice/ObjectMeta":  `{labels: {a: b}}`,

	"BackendObjectReference": `{name: x}`,
	"BackendRef":             `{name: x}`,
	"BackendRefs":            `[{name: x}]`,
	"CommonRouteSpec":        `{parentRefs: [{name: x}]}`,
	"Filters":                `[{type: URLRewrite}]`,
	"ParentRefs":             `[{name: x}]`,
	"RequestMirror":          `{backendRef: {name: x}}`,

	"HTTPRouteSpec/Rules":                       `[{name: x}]`,
	"GRPCRouteSpec/Rules":                       `[{name: x}]`,
	"ParentReference/Group":                     gatewayv1.GroupName,
	"ParentReference/Kind":                      `Gateway`,
	"BackendObjectReference/Group":              `""`,
	"BackendObjectReference/Kind":               `Service`,
	"BackendObjectReference/Namespace":          `team`,
	"BackendObjectReference (mirror)/Group":     `""`,
	"BackendObjectReference (mirror)/Kind":      `Service`,
	"BackendObjectReference (mirror)/Namespace": `team`,
	"HTTPRouteFilter/Type":                      `URLRewrite`,
	"HTTPRouteFilter (backend)/Type":            `URLRewrite`,
	"GRPCRouteFilter/Type":                      `RequestHeaderModifier`,
	"GRPCRouteFilter (backend)/Type":            `RequestHeaderModifier`,
}

// TestDecisionsAreCarriedOut checks objects when they are created, and after they are changed.
func TestDecisionsAreCarriedOut(t *testing.T) {
	for name, s := range subjects {
		for field, d := range s.fields {
			if s.translate == nil {
				continue
			}
			t.Run(name+"/"+field, func(t *testing.T) {
				var want any
				got, later, refusal := s.translate(t, func(v reflect.Value) {
					example, ok := examples[name+"/"+field]
					if !ok {
						example, ok = examples[field]
					}
					if ok {
						merged(t, v.FieldByName(field).Addr().Interface(), example)
					} else {
						plain.fill(v.FieldByName(field))
					}
					want = v.FieldByName(field).Interface()
				})
				checkDecision(t, s, field, d, want, got, refusal)
				if later.IsValid() {
					if diff := cmp.Diff(got.Interface(), later.Interface()); diff != "" {
						t.Errorf("a later change does not follow (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

func checkDecision(t *testing.T, s subject, field string, d decision, want any, got reflect.Value, refusal *field.Problem) {
	t.Helper()
	if d.verdict == refused || d.verdict == limited {
		described, _ := s.kind.FieldByName(field)
		yaml, _, _ := strings.Cut(described.Tag.Get("json"), ",")
		if refusal == nil || refusal.Reason != d.reason || !strings.Contains(refusal.Message, "."+yaml+" is set") {
			t.Errorf("got %v, want %s for %s", refusal, d.reason, yaml)
		}
		return
	}
	if refusal != nil {
		t.Fatal(refusal)
	}
	switch value := got.FieldByName(field); d.verdict {
	case sent:
		if diff := cmp.Diff(want, value.Interface()); diff != "" {
			t.Error(diff)
		}
	case dropped:
		if !value.IsZero() {
			t.Errorf("%v was sent", value)
		}
	case changed:
		if value.IsZero() && field != "Ephemeral" {
			t.Error("it was not sent")
		}
	}
}

func TestEphemeralContainersAreSentWhole(t *testing.T) {
	local := podOf(t, `{spec: {containers: [{name: web}]}}`)
	remote := sentPod(t, local, mapped)
	var c corev1.EphemeralContainer
	plain.fill(reflect.ValueOf(&c).Elem())
	c.SecurityContext.Privileged = nil
	local.Spec.EphemeralContainers = []corev1.EphemeralContainer{c}
	if diff := cmp.Diff(local.Spec.EphemeralContainers, PodUpdate(local, remote, mapped, generous).Ephemeral.Spec.EphemeralContainers); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsUndecidedIsNotSent(t *testing.T) {
	var v corev1.Volume
	plain.fill(reflect.ValueOf(&v).Elem())
	if diff := cmp.Diff(corev1.Volume{Name: "x"}, planFor[corev1.Volume](decisions{"Name": send()}).allowed(&v)); diff != "" {
		t.Error(diff)
	}
}
