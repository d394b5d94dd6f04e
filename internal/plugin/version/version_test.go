package version

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

func TestText(t *testing.T) {
	for want, m := range map[string]*manager{
		"manager: unknown: you may not read":                nil,
		"manager: unknown: it runs outside of this cluster": {Manager: status.Manager{Available: true, Outside: "host"}, Image: "a:1"},
		"manager: none: there is no Deployment":             {Manager: status.Manager{Message: "there is no Deployment"}},
		"manager: a:1, not available: 0 of 2":               {Manager: status.Manager{Message: "0 of 2"}, Image: "a:1"},
		"manager: a:1\n":                                    {Manager: status.Manager{Available: true}, Image: "a:1"},
	} {
		v := versions{Plugin: "v1", Kubernetes: "1.36.3", Manager: m}
		if got := v.text(false); !strings.HasPrefix(got, "plugin: v1\nKubernetes: v1.36.3\n"+want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := v.text(true); got != "plugin: v1\n" {
			t.Errorf("alone, the plugin says %q", got)
		}
	}
}

// TestImage finds the manager's container in what is shipped.
func TestImage(t *testing.T) {
	shipped, err := config.Objects("default")
	if err != nil {
		t.Fatal(err)
	}
	got := "none"
	for _, object := range shipped {
		if object.GetKind() == "Deployment" {
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
				t.Fatal(err)
			}
			got = image(deployment.Spec.Template.Spec.Containers)
		}
	}
	if got != config.Image {
		t.Errorf("got %s", got)
	}
}
