package provenance

import (
	"maps"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestAccount(t *testing.T) {
	tests := map[string]struct{ username, want string }{
		"the shipped one":                  {"system:serviceaccount:spillway-provider:spillway-consumer", "spillway-consumer"},
		"a second one":                     {"system:serviceaccount:spillway-provider:team.b-2", "team.b-2"},
		"of a namespace of its own":        {"system:serviceaccount:elsewhere:spillway-consumer", ""},
		"of a namespace that begins alike": {"system:serviceaccount:spillway-provider-2:spillway-consumer", ""},
		"a certificate":                    {"system:admin", ""},
		"nobody":                           {"", ""},
		"too long for a label":             {confined + strings.Repeat("a", 64), ""},
		"no name":                          {confined, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Account(test.username); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestAccountOfTheMark: an object with the mark belongs to this manager even if another account of the
// consumer created it, or an account that the policies do not confine.
func TestAccountOfTheMark(t *testing.T) {
	ours := Mark{Origin: "origin-uid", ClusterID: "eu", Account: "spillway-consumer"}
	if got := ours.Labels()[v1alpha1.LabelAccount]; got != "spillway-consumer" {
		t.Errorf("the label is %q", got)
	}
	if _, there := mark.Labels()[v1alpha1.LabelAccount]; there {
		t.Error("there is a label of no account")
	}
	for name, labels := range map[string]map[string]string{
		"by no account":      mark.Labels(),
		"by another account": with(maps.Clone(ours.Labels()), v1alpha1.LabelAccount, "other"),
	} {
		if !ours.IsOn(object(labels, nil)) {
			t.Errorf("what is made %s is not ours", name)
		}
	}
	if ours.Selector().String() != mark.Selector().String() {
		t.Errorf("the selector of the caches is %s", ours.Selector())
	}
}
