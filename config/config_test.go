package config_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/field"
)

// TestObjects: every shipped directory can be built, and has no object twice.
func TestObjects(t *testing.T) {
	for _, directory := range []string{"default", "shard", "provider", "provider-trusted", "hosted"} {
		objects, err := config.Objects(directory)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, object := range objects {
			name := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
			if seen[name] {
				t.Errorf("%s: %s is there twice", directory, name)
			}
			seen[name] = true
		}
		if len(objects) == 0 {
			t.Errorf("%s has no objects", directory)
		}
	}
	if _, err := config.Objects("nowhere"); err == nil {
		t.Error("there is no such directory, and no error")
	}
}

// TestSameAsKustomize: the kustomize program writes dist/install.yaml and dist/provider.yaml. Its
// version may differ from the library's.
func TestSameAsKustomize(t *testing.T) {
	for _, directory := range []string{"default", "provider", "provider-trusted"} {
		t.Run(directory, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=go.tools.mod", "kustomize", "build", "config/"+directory)
			command.Dir, command.Stderr = "..", os.Stderr
			content, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			want, err := config.Decode(content)
			if err != nil {
				t.Fatal(err)
			}
			got, err := config.Objects(directory)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text(t, want), text(t, got)); diff != "" {
				t.Errorf("-kustomize +here:\n%s", diff)
			}
		})
	}
}

// TestProfiles: the manager recognises the profile of the limits in each directory.
func TestProfiles(t *testing.T) {
	for directory, want := range map[string]string{"provider": "confined", "provider-trusted": "trusted"} {
		objects, err := config.Objects(directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if object.GetKind() != "ConfigMap" {
				continue
			}
			data, _, err := unstructured.NestedStringMap(object.Object, "data")
			if err != nil {
				t.Fatal(err)
			}
			if got := field.LimitsOf(data).Profile; got != want {
				t.Errorf("%s: the manager takes it for %q", directory, got)
			}
		}
	}
}

func text(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	all := make([]string, len(objects))
	for i, object := range objects {
		content, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = string(content)
	}
	return all
}
