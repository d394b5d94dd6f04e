package service

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// inService returns a subject that is somewhere in a Service.
func inService[T any](fields field.Decisions, where func(*corev1.Service) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *corev1.Service {
		t.Helper()
		return fieldtest.ServiceOf(t, `{type: LoadBalancer, loadBalancerClass: x, sessionAffinity: None, ports: [{port: 80}]}`)
	}, where, func(local *corev1.Service) (*corev1.Service, *field.Problem) {
		return toRemote(local, fieldtest.Mapped, fieldtest.Balancing, fieldtest.Classes)
	}, merge)}
}

func TestServiceFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"ServiceSpec": inService(serviceSpecFields, func(s *corev1.Service) *corev1.ServiceSpec { return &s.Spec }),
		"ServicePort": inService(servicePortFields, func(s *corev1.Service) *corev1.ServicePort { return &s.Spec.Ports[0] }),
	})
}
