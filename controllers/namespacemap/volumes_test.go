package namespacemap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
)

// claims is a provider that answers lists without a label with one error, others with another, and a request for one
// claim with a third.
type claims struct {
	client.Reader
	all, own, one error
}

func (c claims) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if into, ok := obj.(*corev1.PersistentVolumeClaim); ok && c.one == nil {
		into.Name, into.Spec.VolumeName = "unlabelled", "pvc-1"
	}
	return c.one
}

func (c claims) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	err := c.all
	if asked.LabelSelector != nil && asked.LabelSelector.String() == v1alpha1.LabelOrigin+"=home" {
		err = c.own
	}
	if into, ok := list.(*corev1.PersistentVolumeClaimList); ok && err == nil && asked.Namespace == "team-eu" {
		into.Items = make([]corev1.PersistentVolumeClaim, 1)
	}
	return err
}

// TestClaimsIn: a provider that shows a consumer only its own objects does not keep all its namespaces, and one that
// answers nothing does not lose them.
func TestClaimsIn(t *testing.T) {
	forbidden, failed, lost := apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "", nil), apierrors.NewInternalError(errors.New("no answer")), errors.New("connection lost")
	authorizer := apierrors.NewGenericServerResponse(http.StatusInternalServerError, "get", corev1.Resource("persistentvolumeclaims"), "",
		`Internal Server Error: "/api/v1/namespaces/team-eu/persistentvolumeclaims": Post "https://127.0.0.1:1/?timeout=1s": connection refused`, 0, true)
	proxy := apierrors.NewGenericServerResponse(http.StatusInternalServerError, "get", corev1.Resource("persistentvolumeclaims"), "", "Internal Server Error", 0, true)
	for name, test := range map[string]struct {
		provider claims
		want     error
	}{
		"it shows all":                         {claims{own: lost}, nil},
		"it shows the consumer's, and forbids": {claims{all: forbidden}, nil},
		"it shows the consumer's, by an authorizer that never answers": {claims{all: authorizer}, nil},
		"it fails to show all":    {claims{all: failed}, failed},
		"a proxy before it fails": {claims{all: proxy}, proxy},
		"it forbids all":          {claims{all: forbidden, own: forbidden}, forbidden},
		"it fails":                {claims{all: failed, own: failed}, failed},
		"it does not answer":      {claims{all: lost}, lost},
	} {
		found, err := claimsIn(t.Context(), test.provider, "team-eu", "home", func() ([]string, error) { return []string{""}, nil })
		if !errors.Is(err, test.want) || (len(found) == 1) != (test.want == nil) {
			t.Errorf("%s: got %d, %v", name, len(found), err)
		}
	}
}

// TestUnlabelledClaims: where a consumer sees only what has its labels, the claims that it has recorded are read by
// their names.
func TestUnlabelledClaims(t *testing.T) {
	forbidden, lost, gone := apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "", nil), errors.New("connection lost"), apierrors.NewNotFound(corev1.Resource("persistentvolumeclaims"), "unlabelled")
	for name, test := range map[string]struct {
		provider claims
		want     string
	}{
		"it shows all":                      {claims{one: lost}, "[]"},
		"somebody has taken the label away": {claims{all: forbidden}, "[unlabelled]"},
		"it is gone":                        {claims{all: forbidden, one: gone}, "[]"},
		"it is not shown":                   {claims{all: forbidden, one: forbidden}, "[unlabelled]"},
		"the provider does not answer":      {claims{all: forbidden, one: lost}, lost.Error()},
	} {
		found, err := claimsIn(t.Context(), test.provider, "team-eu", "home", func() ([]string, error) { return []string{"unlabelled"}, nil })
		got := fmt.Sprint(namespacemap.WithData(found))
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
