package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/translate"
)

// TestNever: the Service of the consumer's API server stays at home, and no other one of
// that name does.
func TestNever(t *testing.T) {
	for name, want := range map[types.NamespacedName]bool{
		{Namespace: "default", Name: "kubernetes"}: true,
		{Namespace: "default", Name: "web"}:        false,
		{Namespace: "team", Name: "kubernetes"}:    false,
	} {
		services := Kind()
		if got := services.Never(name); got != want {
			t.Errorf("%s is never sent: %t, want %t", name, got, want)
		}
	}
}

// TestKind: an offloading calls the kind as its default list does, and a namespace sends
// so many.
func TestKind(t *testing.T) {
	services := Kind()
	spec := v1alpha1.NamespaceOffloadingSpec{}
	if !spec.Sends(services.Resource) || services.Most != 1000 {
		t.Errorf("sent by default: %t, at most %d", spec.Sends(services.Resource), services.Most)
	}
}

// TestNotice: the owner of a Service is told what translate has to say, and nothing else.
func TestNotice(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	want := &decide.Problem{Reason: translate.ReasonServiceWithoutEndpoints, Message: translate.ServiceNotice(service, nil).Message}
	if diff := cmp.Diff(want, translation{}.Notice(service, nil, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	service.Spec.Selector = map[string]string{"app": "web"}
	if got := (translation{}).Notice(service, nil, nil); got != nil {
		t.Errorf("got %v", got)
	}
}
