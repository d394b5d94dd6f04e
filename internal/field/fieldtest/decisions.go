// Package fieldtest has what tests of kinds share: objects, and checks of their decisions about fields.
package fieldtest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// Subject is a type with decisions, and a function that translates one of its values.
type Subject struct {
	Kind   reflect.Type
	Fields field.Decisions
	// Translate calls set with a value, and returns what is sent. later is the same value in a copy
	// that existed before the change. It is invalid if the copy must be created again, or its kind has
	// no merge. The TestChangesFollow of such a kind says what its owner may change.
	Translate func(t *testing.T, set func(reflect.Value)) (sent, later reflect.Value, _ *field.Problem)
}

// AnywhereIn returns the translate function of a subject that is somewhere in an object.
func AnywhereIn[T, O any](local func(*testing.T) *O, where func(*O) *T, translate func(*O) (*O, *field.Problem), merge func(desired, remote *O) (*O, bool)) func(*testing.T, func(reflect.Value)) (_, _ reflect.Value, _ *field.Problem) {
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

// InPlace converts a merge that never needs the copy to be created again.
func InPlace[O any](merge func(desired, remote O) O) func(desired, remote O) (O, bool) {
	return func(desired, remote O) (O, bool) { return merge(desired, remote), false }
}

// examples are values of fields that cannot be filled, because some parts would exclude each other or
// be refused. If only one type has such a field, the key begins with the name of the type.
var examples = map[string]string{
	"Affinity":                  `{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: Exists}]}]}}}`,
	"Backend":                   `{service: {name: web}}`,
	"ClusterIP":                 `None`,
	"Containers":                `[{name: web}]`,
	"DefaultBackend":            `{service: {name: web}}`,
	"Egress":                    `[{to: [{podSelector: {}}]}]`,
	"From":                      `[{podSelector: {}}]`,
	"HTTP":                      `{paths: [{backend: {service: {name: web}}}]}`,
	"Ingress":                   `[{from: [{podSelector: {}}]}]`,
	"IngressRuleValue":          `{http: {paths: [{backend: {service: {name: web}}}]}}`,
	"NamespaceSelector":         `{matchLabels: {team: b}}`,
	"To":                        `[{podSelector: {}}]`,
	"DownwardAPI":               `{items: [{path: p, fieldRef: {fieldPath: metadata.labels}}]}`,
	"FieldRef":                  `{fieldPath: status.podIP}`,
	"InitContainers":            `[{name: init}]`,
	"NodeSelector":              `{kubernetes.io/arch: amd64}`,
	"PersistentVolumeSource":    `{nfs: {server: s, path: /}}`,
	"LabelSelector":             `{matchLabels: {app: web}}`,
	"Paths":                     `[{backend: {service: {name: web}}}]`,
	"Projected":                 `{sources: [{configMap: {name: c}}]}`,
	"Rules":                     `[{host: a.example.com}]`,
	"SecurityContext":           `{runAsUser: 1}`,
	"Tolerations":               `[{key: a, operator: Exists}]`,
	"VolumeSource":              `{emptyDir: {}}`,
	"TopologySpreadConstraints": `[{topologyKey: zone, labelSelector: {}}]`,
	"Volumes":                   `[{name: v, emptyDir: {}}]`,

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

func checkDecision(t *testing.T, s Subject, name string, d field.Decision, want any, got reflect.Value, refusal *field.Problem) {
	t.Helper()
	if d.Verdict == field.Refused || d.Verdict == field.Limited {
		described, _ := s.Kind.FieldByName(name)
		yaml, _, _ := strings.Cut(described.Tag.Get("json"), ",")
		if refusal == nil || refusal.Reason != d.Reason || !strings.Contains(refusal.Message, "."+yaml+" is set") {
			t.Errorf("got %v, want %s for %s", refusal, d.Reason, yaml)
		}
		return
	}
	if refusal != nil {
		t.Fatal(refusal)
	}
	switch value := got.FieldByName(name); d.Verdict {
	case field.Sent:
		if diff := cmp.Diff(want, value.Interface()); diff != "" {
			t.Error(diff)
		}
	case field.Dropped:
		if !value.IsZero() {
			t.Errorf("%v was sent", value)
		}
	case field.Changed:
		if value.IsZero() && name != "Ephemeral" {
			t.Error("it was not sent")
		}
	}
}

// CheckDecisions checks that each field of each subject has a decision, and that objects follow the
// decisions when they are created, and after they are changed.
func CheckDecisions(t *testing.T, subjects map[string]Subject) {
	t.Helper()
	for subject, s := range subjects {
		t.Run(subject, func(t *testing.T) {
			checkComplete(t, s)
			if s.Translate == nil {
				return
			}
			for name, d := range s.Fields {
				t.Run(name, func(t *testing.T) { checkCarriedOut(t, s, subject, name, d) })
			}
		})
	}
}

// checkComplete checks that there is a decision about each field, and no other.
func checkComplete(t *testing.T, s Subject) {
	t.Helper()
	for name := range s.Kind.Fields() {
		if s.Fields[name.Name].Verdict == field.Undecided {
			t.Errorf("nobody has decided about %s", name.Name)
		}
	}
	for name, d := range s.Fields {
		if _, exists := s.Kind.FieldByName(name); !exists {
			t.Errorf("there is a decision about %s, which does not exist", name)
		}
		if (d.Verdict == field.Refused || d.Verdict == field.Limited) != (d.Reason != "") || (d.Verdict == field.Sent) != (d.Why == "") {
			t.Errorf("%s: what is refused has a reason, and what is not simply sent an explanation: %+v", name, d)
		}
	}
}

// checkCarriedOut sets a field, and checks that the translation follows the decision about it.
func checkCarriedOut(t *testing.T, s Subject, subject, name string, d field.Decision) {
	t.Helper()
	var want any
	got, later, refusal := s.Translate(t, func(v reflect.Value) {
		example, ok := examples[subject+"/"+name]
		if !ok {
			example, ok = examples[name]
		}
		if ok {
			Merged(t, v.FieldByName(name).Addr().Interface(), example)
		} else {
			Plain.Fill(v.FieldByName(name))
		}
		want = v.FieldByName(name).Interface()
	})
	checkDecision(t, s, name, d, want, got, refusal)
	if later.IsValid() {
		if diff := cmp.Diff(got.Interface(), later.Interface()); diff != "" {
			t.Errorf("a later change does not follow (-want +got):\n%s", diff)
		}
	}
}
