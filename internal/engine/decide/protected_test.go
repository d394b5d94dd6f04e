package decide_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestRelease(t *testing.T) {
	const foreign = "example.com/held"
	for name, test := range map[string]struct {
		worked, pinned, left []string
		stays                bool // It is not being deleted.
	}{
		"all are worked for":           {worked: []string{"eu", "us"}, pinned: []string{"eu", "us"}, left: []string{"eu", "us"}},
		"one is away":                  {worked: []string{"eu"}, pinned: []string{"eu", "us"}, left: []string{"eu"}},
		"no binding names any":         {pinned: []string{"eu", "us"}},
		"it is not being deleted":      {pinned: []string{"eu"}, left: []string{"eu"}, stays: true},
		"nothing of Spillway is on it": {worked: []string{"eu"}},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := metav1.NewTime(builder.Epoch)
			obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted, Finalizers: []string{foreign}, Labels: map[string]string{}}}
			if test.stays {
				obj.DeletionTimestamp = nil
			}
			for _, clusterID := range test.pinned {
				obj.Finalizers = append(obj.Finalizers, v1alpha1.FinalizerSync+clusterID)
				obj.Labels[v1alpha1.LabelSyncedTo+clusterID] = v1alpha1.SyncedToTrue
			}
			released := decide.Release(obj, func(clusterID string) bool { return slices.Contains(test.worked, clusterID) })
			if released != (len(test.left) < len(test.pinned)) {
				t.Errorf("released: %t", released)
			}
			if diff := cmp.Diff(test.left, decide.ProtectedFor(obj)); diff != "" || len(obj.Labels) != len(test.left) || obj.Finalizers[0] != foreign {
				t.Errorf("%v, (-want +got):\n%s", obj.Labels, diff)
			}
		})
	}
}

func TestMarkedFor(t *testing.T) {
	label, finalizer := func(id string) string { return v1alpha1.LabelSyncedTo + id }, func(id string) string { return v1alpha1.FinalizerSync + id }
	for name, test := range map[string]struct {
		labels, finalizers []string
		want               []string
	}{
		"nothing":          {[]string{"app"}, []string{"example.com/held"}, nil},
		"a whole pin":      {[]string{label("eu")}, []string{finalizer("eu")}, []string{"eu"}},
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
					t.Errorf("%s: it is not as IsPinned says", clusterID)
				}
			}
		})
	}
}
