package writes

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// service has a Service created, changed and deleted. It is in both providers, and costs
// a request in each for each of these. Nothing is written on it in the consumer.
func (s *setup) service(t *testing.T) {
	ctx, admin := t.Context(), s.Consumer.Admin
	s.settled(t, time.Now())
	before := len(s.requests())
	local := newService(rig.Namespace(inRestart).GetName(), "front")
	must(t, admin.Create(ctx, local))
	created := local.ResourceVersion
	s.eventually(t, "the remote Services", s.fronts(80))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(local), local))
	if local.ResourceVersion != created {
		t.Errorf("somebody has written on it: %v", local.ManagedFields)
	}
	local.Spec.Ports[0].Port = 81
	must(t, admin.Update(ctx, local))
	s.eventually(t, "the remote Services to be changed", s.fronts(81))
	must(t, admin.Delete(ctx, local))
	s.eventually(t, "the remote Services to be gone", func(ctx context.Context) error {
		for _, provider := range s.Providers {
			if err := gone(ctx, provider.Admin, newService(remoteNamespace(inRestart), "front")); err != nil {
				return err
			}
		}
		return nil
	})
	s.settled(t, time.Now())
	var want []string
	for _, provider := range providers {
		for _, verb := range []string{"create", "patch", "delete"} {
			want = append(want, fmt.Sprintf("%s: %s services front", provider, verb))
		}
	}
	compare(t, want, s.requests()[before:])
}

// fronts wants the remote Services called front to have a port.
func (s *setup) fronts(port int32) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, provider := range s.Providers {
			remote := newService(remoteNamespace(inRestart), "front")
			if err := provider.Admin.Get(ctx, client.ObjectKeyFromObject(remote), remote); err != nil {
				return err
			}
			if is := remote.Spec.Ports[0].Port; is != port {
				return fmt.Errorf("port %d in %s, want %d", is, provider.ID, port)
			}
		}
		return nil
	}
}

func newService(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}
