package field_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
)

func TestWithoutContent(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	tests := map[string]struct {
		full any
		held int // How many entries are left.
		size int64
	}{
		"ConfigMap":                             {&corev1.ConfigMap{Data: map[string]string{"a": large, "b": "1"}, BinaryData: map[string][]byte{"c": []byte(large)}}, 2, 200_000},
		"Secret":                                {&corev1.Secret{Data: map[string][]byte{"a": []byte(large)}, StringData: map[string]string{"b": large}}, 1, 100_000},
		"empty":                                 {&corev1.ConfigMap{Data: map[string]string{}}, 0, 0},
		"what looks like a digest, and is none": {&corev1.Secret{Data: map[string][]byte{field.DigestKey: []byte(large + "/1")}}, 1, 100_000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := field.WithoutContent(test.full)
			left := 0
			count := func(key string, size int) {
				if left++; key != field.DigestKey || size > field.MostDigest {
					t.Errorf("%q with %d bytes is left", key, size)
				}
			}
			switch held := held.(type) {
			case *corev1.ConfigMap:
				for key, value := range held.Data {
					count(key, len(value))
				}
				for key, value := range held.BinaryData {
					count(key, len(value))
				}
			case *corev1.Secret:
				for key, value := range held.Data {
					count(key, len(value))
				}
				if held.StringData != nil {
					t.Error("StringData is left")
				}
			}
			if left != test.held {
				t.Errorf("%d entries are left, want %d", left, test.held)
			}
			if size := field.ContentSize(held); size < test.size || size > test.size+test.size/100 {
				t.Errorf("it stands for %d bytes, want %d and little more", size, test.size)
			}
			if diff := cmp.Diff(held, field.WithoutContent(held)); diff != "" {
				t.Errorf("a second time makes something else (-first +second):\n%s", diff)
			}
		})
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if field.WithoutContent(pod) != any(pod) || field.ContentSize(pod) != 0 {
		t.Error("a pod is not as it was")
	}
}

func TestMergeContent(t *testing.T) {
	was := map[string]string{"a": "1", "b": "2"}
	tests := map[string]struct {
		desired map[string]string
		same    bool
	}{
		"the same":             {map[string]string{"b": "2", "a": "1"}, true},
		"another value":        {map[string]string{"a": "1", "b": "3"}, false},
		"a key less":           {map[string]string{"a": "1"}, false},
		"a key more":           {map[string]string{"a": "1", "b": "2", "c": ""}, false},
		"the same text, other": {map[string]string{"a": "1:1b", "2": ""}, false},
		"values changed round": {map[string]string{"a": "2", "b": "1"}, false},
		"nothing":              {nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := field.DigestOf(was)
			want := test.desired
			if test.same {
				want = held
			}
			if diff := cmp.Diff(want, field.MergeContent(test.desired, held)); diff != "" {
				t.Errorf("against a digest (-want +got):\n%s", diff)
			}
			if got := field.MergeContent(test.desired, was); test.same != cmp.Equal(got, was) {
				t.Errorf("against the content itself: %v", got)
			}
		})
	}
	if got := field.MergeContent(nil, map[string]string{}); len(got) != 0 {
		t.Errorf("of nothing it makes %v", got)
	}
}

func TestLacksContent(t *testing.T) {
	one, two := map[string]string{"a": "1"}, map[string]string{"a": "2"}
	configMap := func(data map[string]string) *corev1.ConfigMap { return &corev1.ConfigMap{Data: data} }
	tests := map[string]struct {
		before, after any
		want          bool
	}{
		"a new one, whole":             {nil, configMap(one), false},
		"a new one, held":              {nil, configMap(field.DigestOf(one)), true},
		"a new one that is empty":      {nil, configMap(field.DigestOf(map[string]string{})), false},
		"another content":              {configMap(field.DigestOf(two)), configMap(field.DigestOf(one)), true},
		"another content, whole":       {configMap(field.DigestOf(two)), configMap(one), false},
		"the same content":             {configMap(field.DigestOf(one)), configMap(field.DigestOf(one)), false},
		"none in place of some":        {configMap(field.DigestOf(one)), configMap(nil), false},
		"binary data":                  {configMap(nil), &corev1.ConfigMap{BinaryData: field.DigestOf(map[string][]byte{"a": {1}})}, true},
		"a Secret":                     {nil, &corev1.Secret{Data: field.DigestOf(map[string][]byte{"a": {1}})}, true},
		"the same Secret":              {&corev1.Secret{Data: field.DigestOf(map[string][]byte{"a": {1}})}, &corev1.Secret{Data: field.DigestOf(map[string][]byte{"a": {1}})}, false},
		"what is always held as it is": {nil, &corev1.Pod{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := field.LacksContent(test.before, test.after); got != test.want {
				t.Errorf("it lacks content: %t, want %t", got, test.want)
			}
		})
	}
}

// TestParseDigest: a provider may send text that looks like a digest.
func TestParseDigest(t *testing.T) {
	for name, test := range map[string]struct {
		data map[string]string
		size int64
		is   bool
	}{
		"one":             {map[string]string{field.DigestKey: "abc/12"}, 12, true},
		"of nothing":      {map[string]string{field.DigestKey: "abc/0"}, 0, true},
		"of less":         {map[string]string{field.DigestKey: "abc/-5"}, 0, true},
		"of no number":    {map[string]string{field.DigestKey: "abc/x"}, 0, false},
		"of no size":      {map[string]string{field.DigestKey: "12"}, 0, false},
		"among others":    {map[string]string{field.DigestKey: "abc/12", "a": "b"}, 0, false},
		"of another key":  {map[string]string{"a": "abc/12"}, 0, false},
		"as long as one":  {map[string]string{field.DigestKey: strings.Repeat("a", 61) + "/12"}, 12, true},
		"longer than any": {map[string]string{field.DigestKey: strings.Repeat("a", 62) + "/12"}, 0, false},
		"empty":           {nil, 0, false},
	} {
		if size, is := field.ParseDigest(test.data); size != test.size || is != test.is {
			t.Errorf("%s: %d, %t", name, size, is)
		}
	}
	if one, other := field.DigestOf(map[string]string{"a": "1"}), field.DigestOf(map[string]string{"b": "1"}); one[field.DigestKey] == other[field.DigestKey] {
		t.Error("another key has the same digest")
	}
	if got := field.Digested(field.DigestOf(map[string]string{"key": "value", "b": ""})); got != int64(len("key")+len("value")+len("b")+2*(field.EntrySize("", ""))) {
		t.Errorf("it took %d bytes", got)
	}
}
