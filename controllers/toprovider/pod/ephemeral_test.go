package pod

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestEphemeralContainersAreSentWhole(t *testing.T) {
	local := fieldtest.PodOf(t, `{spec: {containers: [{name: web}]}}`)
	remote := sentPod(t, local, fieldtest.Mapped)
	var c corev1.EphemeralContainer
	fieldtest.Plain.Fill(reflect.ValueOf(&c).Elem())
	c.SecurityContext.Privileged = nil
	local.Spec.EphemeralContainers = []corev1.EphemeralContainer{c}
	if diff := cmp.Diff(local.Spec.EphemeralContainers, Update(local, remote, fieldtest.Mapped, fieldtest.Generous).Ephemeral.Spec.EphemeralContainers); diff != "" {
		t.Error(diff)
	}
}
