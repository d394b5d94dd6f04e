package podadmission

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/field"
)

// bound has a bound claim of each name.
type bound struct{ cache.Cache }

func (bound) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetName(key.Name)
	into.SetAnnotations(map[string]string{field.AnnotationBindCompleted: "yes"})
	return nil
}

// counting counts what is read.
type counting struct {
	client.Reader
	reads int
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, into, options...)
}

// TestReadsOfClaimsAreBounded: who may create pods cannot have us read the API server without end.
func TestReadsOfClaimsAreBounded(t *testing.T) {
	names := func(n, different int) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
		for i := range n {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("claim-", i%different)},
			}})
		}
		return pod
	}
	for name, test := range map[string]struct {
		pod   *corev1.Pod
		reads int
	}{
		"one claim in many volumes": {names(1000, 1), 1},
		"none of them can be sent":  {names(100, 100), 1},
		"too many claims":           {names(1000, 1000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			live := &counting{Reader: fake.NewClientBuilder().Build()} // It has no claim at all.
			r := &Unscheduled{SharedCache: bound{}, Live: live}
			claims, err := r.claims(t.Context(), test.pod, placement.Index{}, true)
			if err != nil || len(claims) == 0 || claims[0].Refusal == nil {
				t.Fatalf("%v, %v", claims, err)
			}
			if live.reads != test.reads {
				t.Errorf("%d reads, want %d", live.reads, test.reads)
			}
		})
	}
}

// TestProviders: only a class of Spillway's driver lets a provider create the volume. Where no binding maps a class,
// nothing is read.
func TestProviders(t *testing.T) {
	class := func(name, driver string) client.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver}
	}
	claim := func(class string) client.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: class}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}}
	}
	mapping := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu", Classes: []v1alpha1.ClassMapping{
		{Kind: v1alpha1.ClassStorage, Name: "fast"}, {Kind: v1alpha1.ClassStorage, Name: "disk"},
	}}}
	known := fake.NewClientBuilder().WithObjects(class("fast", v1alpha1.StorageDriver), class("slow", v1alpha1.StorageDriver), class("disk", "disk.example.com"),
		claim("fast"), claim("slow"), claim("disk"), claim("none")).Build()
	for name, test := range map[string]struct {
		bindings []v1alpha1.ClusterBinding
		want     []string
		reads    int
	}{
		"fast": {[]v1alpha1.ClusterBinding{mapping}, []string{"eu"}, 1},
		"slow": {[]v1alpha1.ClusterBinding{mapping}, nil, 1},
		"disk": {[]v1alpha1.ClusterBinding{mapping}, nil, 1},
		"none": {[]v1alpha1.ClusterBinding{{}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			live := &counting{Reader: known}
			r := &Unscheduled{Client: known, Live: live}
			got, err := r.providers(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, placement.NewIndex(test.bindings))
			if err != nil || !slices.Equal(got, test.want) || live.reads != test.reads {
				t.Errorf("got %v with %d reads (%v), want %v with %d", got, live.reads, err, test.want, test.reads)
			}
		})
	}
}
