package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/spillway-io/spillway/internal/field/provenance"
)

// TestOurs: controllers of a provider give what they make the labels of what they make it
// for, with our mark.
func TestOurs(t *testing.T) {
	mark := provenance.Mark{Origin: "origin", ClusterID: "eu"}
	managed := Kind{Labels: map[string]string{"managed": "by us"}}
	for name, test := range map[string]struct {
		kind    Kind
		managed string
		want    bool
	}{
		"any of a kind without labels": {Kind{}, "by them", true},
		"ours":                         {managed, "by us", true},
		"theirs":                       {managed, "by them", false},
	} {
		set := labels.Set(mark.Labels())
		set["managed"] = test.managed
		if got := markSelector(mark, test.kind).Matches(set); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
		if markSelector(mark, test.kind).Matches(labels.Set{"managed": test.managed}) {
			t.Errorf("%s: it is ours without the mark", name)
		}
	}
}
