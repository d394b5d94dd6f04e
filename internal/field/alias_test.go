package field_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestAlias(t *testing.T) {
	long := strings.Repeat("a.", 117) + "a" // 235 characters.
	for key, want := range map[string]string{
		"cnpg.io/cluster":                    "label.cnpg.io.spillway.io/cluster",
		"training.kubeflow.org/job-name":     "label.training.kubeflow.org.spillway.io/job-name",
		"kubernetes.io/service-name":         "label.kubernetes.io.spillway.io/service-name",
		long + "/x":                          "label." + long + ".spillway.io/x",
		"a" + long + "/x":                    "",
		"app":                                "",
		"grafana_dashboard":                  "",
		"app.kubernetes.io/name":             "",
		"topology.kubernetes.io/zone":        "",
		"spillway.io/origin":                 "",
		"label.cnpg.io.spillway.io/cluster":  "",
		"label.spillway.io/none":             "",
		"xspillway.io/x":                     "label.xspillway.io.spillway.io/x",
		"spillway.io.example.com/managed-by": "label.spillway.io.example.com.spillway.io/managed-by",
	} {
		if got := field.Alias(key); got != want {
			t.Errorf("%s: got %q", key, got)
		}
	}
}

// FuzzAlias: an alias is a valid key of Spillway's that has no alias itself. It leads back to one key only, which it
// does not begin with.
func FuzzAlias(f *testing.F) {
	for _, key := range []string{"cnpg.io/cluster", "label.a/b", "a.spillway.io/b", "label.spillway.io/none", "a.b/c.d_e-f", "app", "label.label.a.spillway.io/x"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		alias := field.Alias(key)
		if len(validation.IsQualifiedName(key)) > 0 || alias == "" {
			return
		}
		if problems := validation.IsQualifiedName(alias); len(problems) > 0 || !field.IsOurs(alias) || field.Alias(alias) != "" || strings.HasPrefix(alias, key) {
			t.Errorf("%q, %v", alias, problems)
		}
		if _, is := (field.EitherLabels{key: ""}).Lookup(alias); !is {
			t.Errorf("%q does not lead back to %q", alias, key)
		}
	})
}

// TestPodSelector: a selector names aliases. One that names a label of Spillway's finds no remote pod by it, not even
// if the label is the alias of another one.
func TestPodSelector(t *testing.T) {
	for name, test := range map[string]struct{ local, want string }{
		"nothing": {`{}`, `{}`},
		"plain":   {`{matchLabels: {app: a, app.kubernetes.io/name: b}}`, `{matchLabels: {app: a, app.kubernetes.io/name: b}}`},
		"aliases": {`{matchLabels: {app: a, cnpg.io/cluster: b}, matchExpressions: [{key: x.io/y, operator: NotIn, values: [c]}, {key: b, operator: Exists}]}`,
			`{matchLabels: {app: a, label.cnpg.io.spillway.io/cluster: b}, matchExpressions: [{key: label.x.io.spillway.io/y, operator: NotIn, values: [c]}, {key: b, operator: Exists}]}`},
		"ours": {`{matchLabels: {label.cnpg.io.spillway.io/cluster: b, app: a}}`, `{matchLabels: {label.spillway.io/none: b, app: a}}`},
	} {
		local := fieldtest.Parse[metav1.LabelSelector](t, test.local)
		before := local.DeepCopy()
		if diff := cmp.Diff(fieldtest.Parse[metav1.LabelSelector](t, test.want), field.PodSelector(local)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, local); diff != "" {
			t.Errorf("%s was changed:\n%s", name, diff)
		}
	}
	if field.PodSelector(nil) != nil || field.PodLabels(nil) != nil {
		t.Error("no selector became one")
	}
}

// TestAliasesFollow: the aliases of a remote pod follow the labels of the local pod, and nothing else.
func TestAliasesFollow(t *testing.T) {
	pod := func(labels string) metav1.ObjectMeta {
		local := fieldtest.PodOf(t, `{metadata: {namespace: team, name: p, labels: `+labels+`}}`)
		return field.Metadata(local, fieldtest.Mapped)
	}
	remote := pod(`{a.io/b: "1", c.io/d: "1", app: web}`)
	remote.Labels["label.theirs.io.spillway.io/x"], remote.Labels["label.spillway.io/kept"] = "1", "1"
	desired := pod(`{a.io/b: "2", app: web, label.e.io.spillway.io/f: forged}`)
	got, _ := field.MergeMetadata(&desired, &remote)
	want := map[string]string{"a.io/b": "2", "label.a.io.spillway.io/b": "2", "app": "web", "label.spillway.io/kept": "1"}
	for key, value := range fieldtest.Mark.Labels() {
		want[key] = value
	}
	delete(want, v1alpha1.LabelAccount)
	delete(got, v1alpha1.LabelAccount)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	service := fieldtest.ServiceOf(t, `{}`)
	service.Labels = map[string]string{"a.io/b": "1"}
	if of := field.Metadata(service, fieldtest.Mapped); of.Labels["label.a.io.spillway.io/b"] != "" {
		t.Errorf("what is no pod gets an alias: %v", of.Labels)
	}
}
