package pod

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestResizeBeyondBounds: a resize of an existing pod skips a quantity that is not allowed, and sends
// the rest.
func TestResizeBeyondBounds(t *testing.T) {
	const pod = `spec: {containers: [{name: web, resources: {limits: {cpu: %, memory: #}}}]}`
	remote := fieldtest.PodOf(t, strings.NewReplacer("%", "1", "#", "1Gi").Replace(pod))
	local := fieldtest.PodOf(t, strings.NewReplacer("%", "1e21", "#", "2Gi").Replace(pod))
	got := resized(remote, &local.Spec, sets.New(partResourcesOf+"web"))
	if got == nil {
		t.Fatal("nothing is sent")
	}
	limits := got.Spec.Containers[0].Resources.Limits
	if limits.Cpu().String() != "1" || limits.Memory().String() != "2Gi" {
		t.Errorf("it becomes %v", limits)
	}
}
