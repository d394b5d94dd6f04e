package namespacemap

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestRemoteName(t *testing.T) {
	long := strings.Repeat("n", 63)
	tests := map[string]struct {
		namespace string
		strategy  v1alpha1.NamespaceMappingStrategy
		selected  string
		consumer  string
		want      string
	}{
		"the default name":                          {"team", v1alpha1.MappingDefaultName, "", "eu", "team-eu"},
		"no strategy is the default one":            {"team", "", "", "eu", "team-eu"},
		"the same name":                             {"team", v1alpha1.MappingEnforceSameName, "", "eu", "team"},
		"the same name, at its longest":             {long, v1alpha1.MappingEnforceSameName, "", "eu", long},
		"a selected name":                           {"team", v1alpha1.MappingSelectedName, "other", "eu", "other"},
		"a default name of 63 characters":           {strings.Repeat("n", 60), v1alpha1.MappingDefaultName, "", "eu", strings.Repeat("n", 60) + "-eu"},
		"a default name of 64 is hashed":            {strings.Repeat("n", 61), v1alpha1.MappingDefaultName, "", "eu", strings.Repeat("n", 30) + "-94978af83999c0b49e4f9beb0fdc4d22"},
		"a hashed name has one dash in between":     {strings.Repeat("n", 29) + strings.Repeat("-", 30) + "nn", v1alpha1.MappingDefaultName, "", "eu", ""},
		"the longest name and the longest consumer": {long, v1alpha1.MappingDefaultName, "", strings.Repeat("c", 24), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading(test.namespace).Mapping(test.strategy, test.selected).Obj()
			got := RemoteName(nso, test.consumer)
			if len(validation.IsDNS1123Label(got)) > 0 {
				t.Errorf("%q is no DNS label", got)
			}
			if test.want != "" && got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDefaultConsumerID(t *testing.T) {
	for uid, want := range map[types.UID]string{"0123abcd-89ab-4cde-8f01-23456789abcd": "0123abcd", "short": "short", "": ""} {
		if got := DefaultConsumerID(uid); got != want {
			t.Errorf("%s: got %q", uid, got)
		}
	}
}

func TestHashed(t *testing.T) {
	tests := map[string]struct{ name, want string }{
		"short":                      {"name", "name-"},
		"cut at 30":                  {strings.Repeat("a", 30) + "b", strings.Repeat("a", 30) + "-"},
		"cut at a dash":              {strings.Repeat("a", 29) + "-b", strings.Repeat("a", 29) + "-"},
		"cut at a dot":               {strings.Repeat("a", 29) + ".b", strings.Repeat("a", 29) + "-"},
		"cut at several":             {strings.Repeat("a", 27) + "-._b", strings.Repeat("a", 27) + "-"},
		"a separator inside is kept": {"a.b-c", "a.b-c-"},
		"the longest name":           {strings.Repeat("a", 253), strings.Repeat("a", 30) + "-"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			const hash = 32
			got := field.Hashed("ns", test.name)
			if len(got) != len(test.want)+hash || !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %q and a hash", got, test.want)
			}
		})
	}
	// The form is part of the API, because the names of existing objects must not change.
	if got, want := field.Hashed("ns", "name"), "name-75b588fcc4af1140bbd39db3d0327699"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if field.Hashed("a", "b") == field.Hashed("b", "a") || field.Hashed("a", "name") == field.Hashed("b", "name") {
		t.Error("the namespace makes no difference")
	}
}

// TestNamesDoNotCollide tests names that a person or a generator might choose: with the same beginnings, full
// of separators, and as long as allowed.
func TestNamesDoNotCollide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	label := func() string {
		const letters, ends = "ab-", "ab"
		name := make([]byte, 1+random.IntN(63))
		for i := range name {
			name[i] = letters[random.IntN(len(letters))]
		}
		name[0], name[len(name)-1] = ends[random.IntN(2)], ends[random.IntN(2)]
		return string(name)
	}
	const consumer = "a-b"
	hashed, remote := map[string]string{}, map[string]string{}
	for range 50_000 {
		namespace, name := label(), label()
		h, id := field.Hashed(namespace, name), namespace+"/"+name
		if other, taken := hashed[h]; taken && other != id {
			t.Fatalf("%s and %s are both %s", id, other, h)
		}
		hashed[h] = id
		if problems := validation.IsDNS1123Label(h); len(problems) > 0 {
			t.Fatalf("Hashed(%q, %q) = %q: %v", namespace, name, h, problems)
		}
		r := defaultName(name, consumer)
		if other, taken := remote[r]; taken && other != name {
			t.Fatalf("%s and %s are both %s", name, other, r)
		}
		remote[r] = name
		if problems := validation.IsDNS1123Label(r); len(problems) > 0 {
			t.Fatalf("defaultName(%q) = %q: %v", name, r, problems)
		}
	}
}

func FuzzHashed(f *testing.F) {
	f.Add("ns", "name")
	f.Add("", "a")
	f.Add("ns", strings.Repeat("a", 29)+".-_b")
	f.Fuzz(func(t *testing.T, namespace, name string) {
		got := field.Hashed(namespace, name)
		if got != field.Hashed(namespace, name) {
			t.Fatal("not the same twice")
		}
		if len(got) > 63 {
			t.Fatalf("%q has %d characters", got, len(got))
		}
		if len(validation.IsDNS1123Subdomain(name)) == 0 && len(validation.IsDNS1123Subdomain(got)) > 0 {
			t.Fatalf("%q is a name, %q is none", name, got)
		}
		if len(validation.IsDNS1123Label(name)) == 0 && len(validation.IsDNS1123Label(got)) > 0 {
			t.Fatalf("%q is a label, %q is none", name, got)
		}
	})
}

func TestCheck(t *testing.T) {
	const local, remote = "namespace %s is a system namespace and is never offloaded", "remote namespace %s is reserved: use another name"
	tests := map[string]struct{ local, remote string }{
		"team":            {"", ""},
		"kube":            {"", ""},
		"kubernetes":      {"", ""},
		"default":         {"", remote},
		"kube-system":     {local, remote},
		"kube-anything":   {local, remote},
		"spillway-system": {local, remote},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := []string{errorText(CheckLocal(name, "spillway-system")), errorText(CheckRemote(name, "spillway-system"))}
			want := []string{strings.ReplaceAll(test.local, "%s", name), strings.ReplaceAll(test.remote, "%s", name)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
