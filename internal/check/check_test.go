package check

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var now = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

func reader(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func binding(name string, ready metav1.ConditionStatus) *v1alpha1.ClusterBinding {
	b := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BindingReady, Status: ready}}
	return b
}

func offloading(namespace string) *v1alpha1.NamespaceOffloading {
	return &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName}}
}

func lease(holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: LeaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: ptr.To(int32(15)), RenewTime: &metav1.MicroTime{Time: renewed},
	}}
}

func TestRemoval(t *testing.T) {
	many := []client.Object{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		many = append(many, binding(name, metav1.ConditionTrue))
	}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string // Part of the error; empty: no error.
	}{
		"nothing is left": {[]client.Object{lease("a", now)}, ""},
		"a binding":       {[]client.Object{binding("eu", metav1.ConditionFalse)}, "still offloaded (none), or clusters bound (eu). Delete these"},
		"an offloading":   {[]client.Object{offloading("team-a")}, "still offloaded (team-a), or clusters bound (none)"},
		"many":            {many, "bound (a, b, c, d, e, and 2 more)"},
	} {
		t.Run(name, func(t *testing.T) { says(t, Removal(t.Context(), reader(t, test.objects...)), test.want) })
	}
}

// TestRemovalWithoutCRDs checks that a missing kind counts as empty, and that an unreadable kind is an error.
func TestRemovalWithoutCRDs(t *testing.T) {
	answering := func(answer error) client.Reader {
		return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return answer },
		}).Build()
	}
	says(t, Removal(t.Context(), answering(&meta.NoKindMatchError{})), "")
	says(t, Removal(t.Context(), answering(errors.New("forbidden"))), "looking for what is left: forbidden")
}

func TestInstallation(t *testing.T) {
	for name, test := range map[string]struct {
		objects        []client.Object
		want, wantFail string
	}{
		"there is no Lease":    {nil, "", "reading the Lease"},
		"nobody holds it":      {[]client.Object{lease("", now)}, "", "no manager is active: the Lease system/spillway-manager is not held; see kubectl logs deployment/spillway-manager -n system"},
		"it was not renewed":   {[]client.Object{lease("a", now.Add(-16*time.Second))}, "", "no manager is active"},
		"it was, just in time": {[]client.Object{lease("a", now.Add(-15*time.Second))}, "manager a is active; 0 of 0 ClusterBindings are Ready", ""},
		"with bindings": {[]client.Object{lease("a", now), binding("eu", metav1.ConditionTrue), binding("us", metav1.ConditionFalse)},
			"manager a is active; 1 of 2 ClusterBindings are Ready", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Installation(t.Context(), reader(t, test.objects...), "system", now)
			says(t, err, test.wantFail)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
