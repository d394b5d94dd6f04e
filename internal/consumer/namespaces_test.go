package consumer

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestNamespaceLabels: only a namespace that is gone has no labels. One that cannot be read may have some.
func TestNamespaceLabels(t *testing.T) {
	broken := errors.New("broken")
	c := fake.NewClientBuilder().WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"of": "a"}}}).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			if key.Name == "broken" {
				return broken
			}
			return c.Get(ctx, key, object)
		},
	}).Build()
	for name, want := range map[string]struct {
		label string
		err   error
	}{"team": {"a", nil}, "gone": {"", nil}, "broken": {"", broken}} {
		if labels, err := NamespaceLabels(t.Context(), c, name); labels["of"] != want.label || !errors.Is(err, want.err) {
			t.Errorf("%s: %v, %v", name, labels, err)
		}
	}
}
