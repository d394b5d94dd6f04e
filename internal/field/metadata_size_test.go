package field_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestMetadataTooLarge counts what would be sent, and the memory of each entry itself.
func TestMetadataTooLarge(t *testing.T) {
	entry := func(size int) map[string]string {
		return map[string]string{"a": strings.Repeat("x", size-1-field.EntrySize("", ""))}
	}
	for name, test := range map[string]struct {
		labels, annotations map[string]string
		size                int
		refused             bool
	}{
		"nothing":                  {nil, nil, 0, false},
		"as much as may be":        {nil, entry(64 << 10), 64 << 10, false},
		"a byte more":              {nil, entry(64<<10 + 1), 64<<10 + 1, true},
		"in labels":                {entry(64<<10 + 1), nil, 64<<10 + 1, true},
		"in both":                  {entry(33 << 10), entry(33 << 10), 66 << 10, true},
		"what kubectl has applied": {nil, map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1<<20)}, 0, false},
		"our own":                  {map[string]string{"spillway.io/x": strings.Repeat("x", 1<<20)}, nil, 0, false},
		"shortened":                {nil, field.Shortened(nil), len(field.DigestKey) + field.EntrySize("", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			local := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, Annotations: test.annotations}}
			if got := field.MetadataSize(local); got != test.size {
				t.Errorf("it takes %d bytes, want %d", got, test.size)
			}
			var want *field.Problem
			if test.refused {
				want = &field.Problem{Reason: "MetadataTooLarge", Message: "its labels and annotations take more than 64 KiB, so it is not sent"}
			}
			if diff := cmp.Diff(want, field.MetadataTooLarge(local, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	tool := map[string]string{"kapp.k14s.io/original": strings.Repeat("x", 1<<20), "pv.kubernetes.io/x": strings.Repeat("x", 1<<20), "a.io/short": "x"}
	short := maps.Clone(tool)
	field.Shorten(short)
	if diff := cmp.Diff(map[string]string{"kapp.k14s.io/original": "", "pv.kubernetes.io/x": "", "a.io/short": "x", field.DigestKey: "kapp.k14s.io/original,pv.kubernetes.io/x"}, short); diff != "" {
		t.Errorf("shortened (-want +got):\n%s", diff)
	}
	for keys, refused := range map[string]bool{"": false, "a.io/": false, "kapp.k14s.io/": true, "pv.kubernetes.io/": false, field.All: true} {
		for what, annotations := range map[string]map[string]string{"whole": tool, "shortened": short} {
			local := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
			if got := field.MetadataTooLarge(local, &field.Limits{MetadataKeys: []string{keys}}); (got != nil) != refused {
				t.Errorf("%s, for a provider that lists %q: %v", what, keys, got)
			}
			if _, is := field.Metadata(local, fieldtest.Mapped).Annotations[field.DigestKey]; is {
				t.Error("the note is sent")
			}
		}
	}
	if field.EntrySize("ab", "cde") != field.EntrySize("", "")+5 || field.EntrySize("", "") <= 0 {
		t.Error("an entry does not take its key, its value, and more")
	}
	if diff := cmp.Diff(map[string]string{"spillway.io/x": "y", field.DigestKey: ""}, field.Shortened(map[string]string{"spillway.io/x": "y"})); diff != "" {
		t.Errorf("shortened (-want +got):\n%s", diff)
	}
}
