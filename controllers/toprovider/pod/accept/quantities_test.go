package accept

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
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
				pod := fieldtest.PodOf(t, strings.ReplaceAll(test.pod, "%", text))
				refusal := Refusal(pod, Provider{Limits: fieldtest.Generous})
				if !bad || test.field == "" {
					if refusal != nil {
						t.Errorf("%s: %v", text, refusal)
					}
					continue
				}
				if want := (field.Problem{Reason: field.ReasonQuantity, Message: test.field + why + cureOfQuantity}); refusal == nil || *refusal != want {
					t.Errorf("%s: got %v, want %v", text, refusal, &want)
				}
			}
		})
	}
}

func TestDescribedType(t *testing.T) {
	for want, source := range map[string]corev1.VolumeSource{
		"": {EmptyDir: &corev1.EmptyDirVolumeSource{}}, "nfs": {NFS: &corev1.NFSVolumeSource{}}, "iscsi": {ISCSI: &corev1.ISCSIVolumeSource{}},
		"fc": {FC: &corev1.FCVolumeSource{}}, "csi": {CSI: &corev1.CSIVolumeSource{}},
	} {
		if got := describedType(&source); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
