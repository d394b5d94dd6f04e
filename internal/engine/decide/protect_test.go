package decide_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

func TestMarkedFor(t *testing.T) {
	label, finalizer := func(id string) string { return v1alpha1.LabelSyncedTo + id }, func(id string) string { return v1alpha1.FinalizerSync + id }
	for name, test := range map[string]struct {
		labels, finalizers []string
		want               []string
	}{
		"nothing":          {[]string{"app"}, []string{"example.com/held"}, nil},
		"all of one":       {[]string{label("eu")}, []string{finalizer("eu")}, []string{"eu"}},
		"parts of several": {[]string{label("us"), label("eu")}, []string{finalizer("asia"), finalizer("eu")}, []string{"asia", "eu", "us"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Finalizers: test.finalizers, Labels: map[string]string{}}}
			for _, key := range test.labels {
				obj.Labels[key] = ""
			}
			got := decide.MarkedFor(obj)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, clusterID := range []string{"eu", "us", "asia", "other"} {
				if decide.IsProtected(obj, clusterID) != slices.Contains(got, clusterID) {
					t.Errorf("%s: MarkedFor and IsProtected differ", clusterID)
				}
			}
		})
	}
}
