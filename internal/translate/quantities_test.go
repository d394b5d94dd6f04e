package translate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/field"
)

// TestQuantities covers each field of a pod with a quantity. A quantity that would end the connection
// when it comes back is refused before it is sent.
func TestQuantities(t *testing.T) {
	const why = " has more than 40 characters, or an exponent beyond 18"
	for name, test := range map[string]struct{ pod, field string }{
		"a request":              {`spec: {containers: [{name: web, resources: {requests: {cpu: %}}}]}`, "spec.containers[web].resources.requests.cpu"},
		"limits, first by name":  {`spec: {containers: [{name: web, resources: {limits: {memory: %, cpu: %}}}]}`, "spec.containers[web].resources.limits.cpu"},
		"an init container":      {`spec: {initContainers: [{name: init, resources: {limits: {example.org/gpu: %}}}]}`, "spec.initContainers[init].resources.limits.example.org/gpu"},
		"the pod":                {`spec: {resources: {limits: {cpu: %}}}`, "spec.resources.limits.cpu"},
		"a volume":               {`spec: {volumes: [{name: v, emptyDir: {sizeLimit: %}}]}`, "spec.volumes[v].emptyDir.sizeLimit"},
		"text that looks like 1": {`{metadata: {annotations: {a: "%"}}, spec: {containers: [{name: web, env: [{name: A, value: "%"}]}]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for text, bad := range map[string]bool{"1e18": false, "1": false, "500m": false, "1e21": true, "1e9999999": true, strings.Repeat("1", 41): true} {
				pod := podOf(t, strings.ReplaceAll(test.pod, "%", text))
				refusal := LimitRefusal(pod, generous)
				if !bad || test.field == "" {
					if refusal != nil {
						t.Errorf("%s: %v", text, refusal)
					}
					continue
				}
				if want := (field.Problem{Reason: ReasonQuantity, Message: test.field + why + cureOfQuantity}); refusal == nil || *refusal != want {
					t.Errorf("%s: got %v, want %v", text, refusal, &want)
				}
			}
		})
	}
}

// TestResizeBeyondBounds: a resize of an existing pod skips a quantity that is not allowed, and sends
// the rest.
func TestResizeBeyondBounds(t *testing.T) {
	const pod = `spec: {containers: [{name: web, resources: {limits: {cpu: %, memory: #}}}]}`
	remote := podOf(t, strings.NewReplacer("%", "1", "#", "1Gi").Replace(pod))
	local := podOf(t, strings.NewReplacer("%", "1e21", "#", "2Gi").Replace(pod))
	got := resized(remote, &local.Spec, sets.New(partResourcesOf+"web"))
	if got == nil {
		t.Fatal("nothing is sent")
	}
	limits := got.Spec.Containers[0].Resources.Limits
	if limits.Cpu().String() != "1" || limits.Memory().String() != "2Gi" {
		t.Errorf("it becomes %v", limits)
	}
}
