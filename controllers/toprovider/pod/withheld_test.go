package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

const keysNotLetIn = ": the provider does not allow it (metadataKeys, reservedKeys in ConfigMap spillway-provider/limits)"

// thereAs is what a message adds to a label that the provider has by its alias.
func thereAs(alias string) string { return " (there " + alias + ", by which selectors find the pod)" }

// TestKeysAndChangedLimits changes limits while a pod runs. A key that the provider lists later is sent
// once. A key that it removes from the list stays, without a write.
func TestKeysAndChangedLimits(t *testing.T) {
	local := fieldtest.PodOf(t, `
metadata:
  {name: p, namespace: team, uid: u, labels: {app: web, example.com/role: a}, annotations: {example.com/role: b, sidecar.istio.io/inject: "true"}}
spec: {containers: [{name: c, image: i}]}`)
	none, listing := &field.Limits{}, &field.Limits{MetadataKeys: []string{"example.com/"}}
	remote := ToRemote(local, fieldtest.Mapped, none, nil)
	if diff := cmp.Diff([]string{"annotation example.com/role, annotation sidecar.istio.io/inject, label example.com/role" + thereAs("label.example.com.spillway.io/role") + keysNotLetIn},
		Withheld(local, remote, none)); diff != "" {
		t.Error(diff)
	}
	if got := remote.Annotations[v1alpha1.AnnotationCopied]; got != "app;" {
		t.Errorf("it is said to have %q", got)
	}
	if changes := Update(local, remote, fieldtest.Mapped, none); changes != (Changes{}) {
		t.Fatalf("it is changed at once: %v", changes)
	}
	if alias := remote.Labels["label.example.com.spillway.io/role"]; alias != "a" {
		t.Errorf("the alias is %q", alias)
	}
	changes := Update(local, remote, fieldtest.Mapped, listing)
	if changes.Main == nil || changes.Main.Labels["label.example.com.spillway.io/role"] != "a" || changes.Main.Labels["example.com/role"] != "a" || changes.Main.Annotations["example.com/role"] != "b" {
		t.Fatalf("what is listed is not sent: %v", changes.Main)
	}
	if diff := cmp.Diff([]string{"annotation sidecar.istio.io/inject" + keysNotLetIn}, Withheld(local, changes.Main, listing)); diff != "" {
		t.Error(diff)
	}
	for name, limits := range map[string]*field.Limits{"listed": listing, "taken off": none, "missing": field.MissingLimits()} {
		if again := Update(local, changes.Main, fieldtest.Mapped, limits); again != (Changes{}) {
			t.Errorf("%s: it is changed once more: %v", name, again)
		}
	}
	if diff := cmp.Diff([]string{"annotation sidecar.istio.io/inject" + keysNotLetIn}, Withheld(local, changes.Main, none)); diff != "" {
		t.Errorf("taken off: %s", diff)
	}
}

// TestOldKeysStay: a pod was sent with all its labels and annotations. Nothing is written until its
// owner changes something, and then only that.
func TestOldKeysStay(t *testing.T) {
	none := &field.Limits{}
	local := fieldtest.PodOf(t, `
metadata: {name: p, namespace: team, uid: u, labels: {example.com/a: "1", example.com/b: "1"}, annotations: {example.com/c: "1"}}
spec: {containers: [{name: c, image: i}]}`)
	remote := ToRemote(local, fieldtest.Mapped, &field.Limits{MetadataKeys: []string{"example.com/"}}, nil)
	if changes := Update(local, remote, fieldtest.Mapped, none); changes != (Changes{}) || Withheld(local, remote, none) != nil {
		t.Fatalf("it is changed, or said to lack something: %v, %v", changes, Withheld(local, remote, none))
	}

	local.Labels["example.com/a"] = "2" // The new value may be a different command.
	main := Update(local, remote, fieldtest.Mapped, none).Main
	if main == nil || main.Labels["example.com/a"] != "1" || main.Labels["label.example.com.spillway.io/a"] != "2" {
		t.Fatalf("not only the alias follows: %v", main)
	}
	remote = main
	if diff := cmp.Diff([]string{"label example.com/a" + thereAs("label.example.com.spillway.io/a") + keysNotLetIn}, Withheld(local, remote, none)); diff != "" {
		t.Error(diff)
	}

	delete(local.Labels, "example.com/b")
	local.Annotations["plain"] = "1"
	changes := Update(local, remote, fieldtest.Mapped, none)
	if changes.Main == nil {
		t.Fatal("what is removed and added is not sent")
	}
	if diff := cmp.Diff("example.com/a;example.com/c,plain", changes.Main.Annotations[v1alpha1.AnnotationCopied]); diff != "" {
		t.Error(diff)
	}
	if _, is := changes.Main.Labels["label.example.com.spillway.io/b"]; is {
		t.Errorf("the alias of a label that is gone stays: %v", changes.Main.Labels)
	}
	if _, is := changes.Main.Labels["example.com/b"]; is || changes.Main.Labels["example.com/a"] != "1" {
		t.Errorf("the labels become %v", changes.Main.Labels)
	}
	if again := Update(local, changes.Main, fieldtest.Mapped, none); again != (Changes{}) {
		t.Errorf("it is changed once more: %v", again)
	}
}

// TestKeysOfTheProvider: the provider itself has set a key. To withhold it changes nothing there.
func TestKeysOfTheProvider(t *testing.T) {
	local := fieldtest.PodOf(t, `{metadata: {name: p, namespace: team, uid: u, annotations: {example.com/a: ours}}, spec: {containers: [{name: c, image: i}]}}`)
	remote := ToRemote(local, fieldtest.Mapped, &field.Limits{}, nil)
	remote.Annotations["example.com/a"] = "theirs"
	if changes := Update(local, remote, fieldtest.Mapped, &field.Limits{}); changes != (Changes{}) {
		t.Errorf("it is changed: %v", changes.Main.Annotations)
	}
}

// TestWithheldKeysAreFew: a message names only a few keys, although a pod may have any number.
func TestWithheldKeysAreFew(t *testing.T) {
	local := fieldtest.PodOf(t, `{metadata: {name: p, namespace: team, uid: u}, spec: {containers: [{name: c, image: i}]}}`)
	local.Annotations = map[string]string{}
	for _, name := range strings.Split("abcdefgh", "") {
		local.Annotations["example.com/"+name] = "1"
	}
	want := "annotation example.com/a, annotation example.com/b, annotation example.com/c and 5 more" + keysNotLetIn
	if diff := cmp.Diff([]string{want}, Withheld(local, ToRemote(local, fieldtest.Mapped, &field.Limits{}, nil), &field.Limits{})); diff != "" {
		t.Error(diff)
	}
}

// TestWithheldKeysInTheEnvironment: a container reads the values that its pod has in the consumer.
func TestWithheldKeysInTheEnvironment(t *testing.T) {
	const manifest = `
metadata: {name: p, namespace: team, uid: u, labels: {tags.example.com/service: "$(A) shop"}, annotations: {app.kubernetes.io/name: web}}
spec:
  containers:
  - {name: c, image: i, env: [
      {name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tags.example.com/service']"}}},
      {name: B, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['app.kubernetes.io/name']"}}},
      {name: C, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tags.example.com/other']"}}}]}`
	read := func(limits *field.Limits) map[string]string {
		values := map[string]string{}
		for _, env := range ToRemote(fieldtest.PodOf(t, manifest), fieldtest.Mapped, limits, nil).Spec.Containers[0].Env {
			values[env.Name] = env.Value
			if env.ValueFrom != nil {
				values[env.Name] = env.ValueFrom.FieldRef.FieldPath
			}
		}
		return values
	}
	want := map[string]string{
		"A": "$$(A) shop", // Escaped, it is not a reference.
		"B": "metadata.annotations['app.kubernetes.io/name']", "C": "metadata.labels['tags.example.com/other']",
	}
	if diff := cmp.Diff(want, read(&field.Limits{})); diff != "" {
		t.Error(diff)
	}
	want["A"] = "metadata.labels['tags.example.com/service']"
	if diff := cmp.Diff(want, read(&field.Limits{MetadataKeys: []string{"tags.example.com/"}})); diff != "" {
		t.Errorf("listed: %s", diff)
	}
}

// TestFileOfALabel: a file of one label refers to the alias, so that it follows changes under all limits.
func TestFileOfALabel(t *testing.T) {
	for path, want := range map[string]string{
		"metadata.labels['tags.example.com/service']":      "metadata.labels['label.tags.example.com.spillway.io/service']",
		"metadata.labels['app']":                           "metadata.labels['app']",
		"metadata.labels['spillway.io/origin']":            "metadata.labels['spillway.io/origin']",
		"metadata.annotations['tags.example.com/service']": "metadata.annotations['tags.example.com/service']",
	} {
		local := fieldtest.PodOf(t, `{spec: {volumes: [{name: v, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: "`+path+`"}}]}}]}}`)
		if got := fileFields(&ToRemote(local, fieldtest.Mapped, &field.Limits{}, nil).Spec)[0].FieldPath; got != want {
			t.Errorf("%s becomes %s", path, got)
		}
	}
}
