package install

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUntil(t *testing.T) {
	lease := &coordinationv1.Lease{}
	if got := until(lease); got != "" {
		t.Errorf("nobody has held it: %q", got)
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	if got := until(lease); !strings.Contains(got, "until 2026-01-02T03:04:05Z") {
		t.Errorf("got %q", got)
	}
}
