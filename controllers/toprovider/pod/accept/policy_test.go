package accept

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/internal/field"
)

// podsPolicy is the policy that adds the toleration to pods. It has the same lists as this package.
const podsPolicy = "../../../../config/policy/pods.yaml"

// TestListsOfThePolicy compares the lists in the admission policy with the tables here, because a pod
// that can never be sent gets no toleration. TestNeverSent in test/admission checks that the
// expressions use them as BaselineRefusal does.
func TestListsOfThePolicy(t *testing.T) {
	lists := policyLists(t)
	for name, want := range map[string][]string{
		"refusedFields":        slices.DeleteFunc(refusedNames(PodSpecPlan), func(f string) bool { return f == "resourceClaims" }),
		"refusedVolumes":       refusedNames(VolumeSourcePlan),
		"refusedProjections":   refusedNames(volumeProjectionPlan),
		"baselineCapabilities": stringsOf(baselineCapabilities),
		"baselineSELinuxTypes": baselineSELinuxTypes,
		"baselineSysctls":      baselineSysctls,
		"describable":          field.Describable,
	} {
		got := slices.Sorted(slices.Values(lists[name]))
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			t.Errorf("%s (-here +in the policy):\n%s", name, diff)
		}
	}
	// All other fields that are refused whatever their value have their own expression.
	rest := slices.Concat(refusedNames(SecurityContextPlan), refusedNames(PodSecurityContextPlan), refusedNames(ContainerPlan))
	if diff := cmp.Diff([]string{"privileged"}, rest); diff != "" {
		t.Errorf("other fields that are refused (-the policy knows +here):\n%s", diff)
	}
}

func refusedNames[T any](p field.Plan[T]) []string {
	var names []string
	for _, field := range p.Refused {
		names = append(names, field.Name)
	}
	return names
}

func stringsOf[S ~string](of []S) []string {
	all := make([]string, len(of))
	for i := range of {
		all[i] = string(of[i])
	}
	return all
}

// policyLists returns the policy's variables that are lists of strings.
func policyLists(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(podsPolicy)
	if err != nil {
		t.Fatal(err)
	}
	document, _, _ := strings.Cut(string(raw), "\n---\n")
	var policy struct {
		Spec struct {
			Variables []struct{ Name, Expression string }
		}
	}
	if err := yaml.Unmarshal([]byte(document), &policy); err != nil {
		t.Fatal(err)
	}
	list, item := regexp.MustCompile(`^\[[^\[\]{}()]*\]$`), regexp.MustCompile(`'([^']*)'`)
	lists := map[string][]string{}
	for _, v := range policy.Spec.Variables {
		if expression := strings.TrimSpace(v.Expression); list.MatchString(expression) {
			for _, match := range item.FindAllStringSubmatch(expression, -1) {
				lists[v.Name] = append(lists[v.Name], match[1])
			}
		}
	}
	return lists
}
