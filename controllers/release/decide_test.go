package release

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestProtected: a deleted object waits for providers that are not away.
func TestProtected(t *testing.T) {
	const foreign = "example.com/held"
	eu, us := builder.Binding("eu").Obj(), builder.Binding("us").Obj()
	away, paused := builder.Binding("us").Unreachable("no answer").Obj(), builder.Binding("us").Unreachable("no answer").Paused().Obj()
	for name, test := range map[string]struct {
		bindings        []*v1alpha1.ClusterBinding
		protected, left []string
		stays           bool // It is not being deleted.
	}{
		"none is away":                 {bindings: []*v1alpha1.ClusterBinding{eu, us}, protected: []string{"eu", "us"}, left: []string{"eu", "us"}},
		"one is away":                  {bindings: []*v1alpha1.ClusterBinding{eu, away}, protected: []string{"eu", "us"}, left: []string{"eu"}},
		"one is away, but paused":      {bindings: []*v1alpha1.ClusterBinding{eu, paused}, protected: []string{"eu", "us"}, left: []string{"eu", "us"}},
		"no binding names any":         {protected: []string{"eu", "us"}},
		"it is not being deleted":      {protected: []string{"eu"}, left: []string{"eu"}, stays: true},
		"nothing of Spillway is on it": {bindings: []*v1alpha1.ClusterBinding{eu}},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := metav1.NewTime(builder.Epoch)
			local := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted, Finalizers: []string{foreign}, Labels: map[string]string{}}}
			if test.stays {
				local.DeletionTimestamp = nil
			}
			for _, clusterID := range test.protected {
				local.Finalizers = append(local.Finalizers, v1alpha1.FinalizerSync+clusterID)
				local.Labels[v1alpha1.LabelSyncedTo+clusterID] = v1alpha1.SyncedToTrue
			}
			left := protected(views.Kind{Metadata: &metav1.PartialObjectMetadata{}}).release(local, observed{bindings: items(test.bindings)})
			if same := left == local; same != (len(test.left) == len(test.protected)) {
				t.Errorf("it is the same object: %t", same)
			}
			if diff := cmp.Diff(test.left, decide.MarkedFor(left)); diff != "" || left.GetFinalizers()[0] != foreign || len(left.GetFinalizers()) != 1+len(test.left) {
				t.Errorf("%v, %v, (-want +got):\n%s", left.GetLabels(), left.GetFinalizers(), diff)
			}
		})
	}
}

func items(bindings []*v1alpha1.ClusterBinding) []v1alpha1.ClusterBinding {
	var all []v1alpha1.ClusterBinding
	for _, binding := range bindings {
		all = append(all, *binding)
	}
	return all
}

// TestRecords: a volume that stands for one in a provider waits for it, even if it is away.
func TestRecords(t *testing.T) {
	away := builder.Binding("eu").Unreachable("no answer").Obj()
	for name, test := range map[string]struct {
		bindings []*v1alpha1.ClusterBinding
		volume   metav1.ObjectMeta
		stays    bool
	}{
		"of a provider that is away": {[]*v1alpha1.ClusterBinding{away}, metav1.ObjectMeta{Name: "spillway-eu-uid", Annotations: map[string]string{v1alpha1.AnnotationRemoteClaim: "team-eu/data"}}, true},
		"of one without a binding":   {nil, metav1.ObjectMeta{Name: "spillway-eu-uid", Annotations: map[string]string{v1alpha1.AnnotationRemoteClaim: "team-eu/data"}}, false},
		"of the consumer's own":      {[]*v1alpha1.ClusterBinding{away}, metav1.ObjectMeta{Name: "disk"}, false},
	} {
		deleted := metav1.NewTime(builder.Epoch)
		test.volume.DeletionTimestamp, test.volume.Finalizers = &deleted, []string{v1alpha1.FinalizerSync + "eu"}
		left := protected(views.Kind{Metadata: &metav1.PartialObjectMetadata{}}).release(&corev1.PersistentVolume{ObjectMeta: test.volume}, observed{bindings: items(test.bindings)})
		if stays := len(left.GetFinalizers()) == 1; stays != test.stays {
			t.Errorf("a volume %s: it stays: %t", name, stays)
		}
	}
}

// TestReported: addresses stay while the provider may have the load balancer.
func TestReported(t *testing.T) {
	local := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Annotations: map[string]string{
		"addresses.spillway.io/eu": "203.0.113.1", "example.com/eu": "x",
	}}}
	eu, paused := builder.Binding("eu").Obj(), builder.Binding("eu").Paused().Obj()
	for name, test := range map[string]struct {
		bindings []*v1alpha1.ClusterBinding
		nsm      *v1alpha1.NamespaceMap
		stays    bool
	}{
		"mapped":                         {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Accepted("team", "team-home").Obj(), true},
		"asked for":                      {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Desired("team", "team-home").Obj(), true},
		"on its way out":                 {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, "", "").Obj(), true},
		"not mapped":                     {[]*v1alpha1.ClusterBinding{eu}, builder.Map("eu").Accepted("other", "team").Obj(), false},
		"not mapped, and paused":         {[]*v1alpha1.ClusterBinding{paused}, builder.Map("eu").Obj(), true},
		"not known":                      {[]*v1alpha1.ClusterBinding{eu}, nil, true},
		"mapped in another map":          {[]*v1alpha1.ClusterBinding{builder.Binding("a").ClusterID("eu").Obj()}, builder.Map("eu").Accepted("team", "team-home").Obj(), true},
		"no binding":                     {nil, builder.Map("eu").Accepted("team", "team-home").Obj(), false},
		"the binding of another cluster": {[]*v1alpha1.ClusterBinding{builder.Binding("eu").ClusterID("us").Obj()}, builder.Map("eu").Accepted("team", "team-home").Obj(), false},
	} {
		var maps []v1alpha1.NamespaceMap
		if test.nsm != nil {
			maps = append(maps, *test.nsm)
		}
		left := addressed(service.Kind()).release(local, observed{items(test.bindings), maps})
		if stays := len(addressReporters(left)) > 0; stays != test.stays || left.GetAnnotations()["example.com/eu"] != "x" {
			t.Errorf("%s: %v", name, left.GetAnnotations())
		}
	}
}
