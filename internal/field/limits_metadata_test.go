package field_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestKeysOfMetadata in test/admission compares the keys that are sent with the provider's policy.

// TestSends: keys that only describe are sent, and keys that the provider lists. Reserved keys never
// are.
func TestSends(t *testing.T) {
	listing := &field.Limits{MetadataKeys: []string{"example.com/role", "example.org/"}}
	all := &field.Limits{MetadataKeys: []string{"*"}, ReservedKeys: []string{"team", "example.org/"}}
	reserving := &field.Limits{MetadataKeys: []string{"example.org/"}, ReservedKeys: []string{"team", "example.org/", "example.com/role", "karpenter.sh/"}}
	for key, want := range map[string]struct{ unknown, none, listing, reserving bool }{
		"team":                         {true, true, true, false},
		"app":                          {true, true, true, true},
		"example.com/role":             {false, false, true, false},
		"example.com/other":            {false, false, false, false},
		"example.org/any":              {false, false, true, false},
		"spillway.io/local-name":       {true, true, true, true},
		"app.kubernetes.io/name":       {true, true, true, true},
		"kubernetes.io/limit-ranger":   {true, true, true, true},
		"kubernetes.io/other":          {false, false, false, false},
		"sidecar.istio.io/inject":      {false, false, false, false},
		"batch.kubernetes.io/job-name": {true, true, true, true},
		"karpenter.sh/do-not-disrupt":  {true, true, true, false},
	} {
		for name, test := range map[string]struct {
			limits *field.Limits
			want   bool
		}{"unknown": {nil, want.unknown}, "none": {&field.Limits{}, want.none}, "listing": {listing, want.listing}, "reserving": {reserving, want.reserving},
			"all": {all, key != "team" && key != "example.org/any"}} {
			if got := test.limits.Sends(key); got != test.want {
				t.Errorf("%s, with limits %s: %t", key, name, got)
			}
		}
	}
}

// TestWithhold: a new object lacks the keys that the provider does not allow, and the record of copied
// keys lacks them, too. If the provider allows all keys, nothing changes.
func TestWithhold(t *testing.T) {
	desired := fieldtest.PodOf(t, `{metadata: {labels: {app: web, example.com/a: "1"}, annotations: {note: hello, example.com/b: "1"}}}`)
	(&field.Limits{}).Withhold(desired, nil)
	if diff := cmp.Diff(map[string]string{"app": "web"}, desired.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"note": "hello", v1alpha1.AnnotationCopied: "app;note"}, desired.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	allowed := fieldtest.PodOf(t, `{metadata: {labels: {app: web}, annotations: {note: hello}}}`)
	before := allowed.DeepCopy()
	(&field.Limits{}).Withhold(allowed, nil)
	if diff := cmp.Diff(before, allowed); diff != "" {
		t.Errorf("where all is let in (-want +got):\n%s", diff)
	}
}
