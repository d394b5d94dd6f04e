package act

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field"
)

// TestLockedPatch checks that the copy in the provider becomes what it should be, although the consumer's side
// knows only a digest of its content.
func TestLockedPatch(t *testing.T) {
	there := map[string]string{"a": "1", "foreign": "2"}
	tests := map[string]struct {
		there  map[string]string
		change func(*corev1.ConfigMap)
		want   string
	}{
		"content": {there, func(m *corev1.ConfigMap) { m.Data = map[string]string{"a": "3"} },
			`{"metadata":{"resourceVersion":"9"},"data":{"a":"3"}}`},
		"content that is gone": {there, func(m *corev1.ConfigMap) { m.Data = nil },
			`{"metadata":{"resourceVersion":"9"}}`},
		"content where there was none": {nil, func(m *corev1.ConfigMap) { m.Data = map[string]string{"a": "3"} },
			`{"metadata":{"resourceVersion":"9"},"data":{"a":"3"}}`},
		"a label": {there, func(m *corev1.ConfigMap) { m.Labels = map[string]string{"x": "y"} },
			`{"metadata":{"resourceVersion":"9","labels":{"x":"y"}},"data":{"a":"1","foreign":"2"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			remote := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}, Data: test.there}
			before, ok := field.WithoutContent(remote).(*corev1.ConfigMap)
			if !ok {
				t.Fatal("it is of another kind")
			}
			after := before.DeepCopy()
			test.change(after)
			how := locked(before)
			patch, err := how.Data(after)
			if err != nil || how.Type() != types.StrategicMergePatchType {
				t.Fatal(how.Type(), err)
			}
			got, err := strategicpatch.StrategicMergePatch(encoded(t, remote), patch, corev1.ConfigMap{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, []byte(test.want)), decode(t, got)); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", patch, diff)
			}
		})
	}
	if how := locked(&corev1.PersistentVolumeClaim{}); how.Type() != types.MergePatchType {
		t.Errorf("a claim is held whole, and patched by %s", how.Type())
	}
}

func encoded(t *testing.T, obj client.Object) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte) *corev1.ConfigMap {
	t.Helper()
	var obj corev1.ConfigMap
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return &obj
}
