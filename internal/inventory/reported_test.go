package inventory

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestReportedIsWhatMapsSay(t *testing.T) {
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
	offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: v1alpha1.OffloadingName, Finalizers: []string{v1alpha1.FinalizerOffloading},
	}}
	deleted := offloading.DeepCopy()
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(builder.Epoch))
	mapped := &v1alpha1.NamespaceMap{
		ObjectMeta: metav1.ObjectMeta{Name: "eu"},
		Spec:       v1alpha1.NamespaceMapSpec{DesiredMapping: []v1alpha1.DesiredMapping{{Namespace: "team", RemoteNamespace: "team-home"}}},
	}
	counted := mapped.DeepCopy()
	counted.Status.LeavingPods = []v1alpha1.LeavingPods{{Namespace: "team", Count: ptr.To(int32(2)), Names: []string{"team/a", "team/b"}}}
	two := eviction.Remaining{Count: 2, Names: []string{"team/a", "team/b"}}
	for name, test := range map[string]struct {
		objects []client.Object
		want    eviction.Remaining
		unknown bool
	}{
		"nothing is there":                     {want: eviction.Remaining{}},
		"there is no map, so nothing was made": {objects: []client.Object{binding, deleted}},
		"nothing has to leave":                 {objects: []client.Object{binding, offloading, mapped}},
		"what had to leave once":               {objects: []client.Object{binding, offloading, counted}},
		"not counted yet":                      {objects: []client.Object{binding, deleted, mapped}, unknown: true},
		"counted":                              {objects: []client.Object{binding, deleted, counted}, want: two},
		"the binding is gone":                  {objects: []client.Object{deleted, counted}},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.objects...).Build()
			got, err := StatusCounter{Reader: reader}.Remaining(t.Context(), "eu", "team")
			if errors.Is(err, ErrUnknown) != test.unknown || err != nil && !test.unknown {
				t.Errorf("got %v, want it to be unknown: %v", err, test.unknown)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
