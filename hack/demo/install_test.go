package main

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestWithoutKind(t *testing.T) {
	const manifests = `# a comment before the first object
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {text: "kind: Deployment"}
`
	got, err := withoutKind([]byte(manifests), "Deployment")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, document := range strings.Split(string(got), "\n---\n") {
		var object struct{ Metadata struct{ Name string } }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		names = append(names, object.Metadata.Name)
	}
	if want := "a c"; strings.Join(names, " ") != want {
		t.Errorf("want the objects %q, got %q", want, names)
	}
}

func TestSamplesAreAllApplied(t *testing.T) {
	entries, err := samples.ReadDir("manifests")
	if err != nil {
		t.Fatal(err)
	}
	applied := append(slices.Concat(sampleFiles, appFiles, storyFiles), euFile, rightsFile)
	for _, entry := range entries {
		if !slices.Contains(applied, "manifests/"+entry.Name()) {
			t.Errorf("manifests/%s is not applied", entry.Name())
		}
	}
	if len(entries) != len(applied) {
		t.Errorf("%d files in manifests, %d are applied", len(entries), len(applied))
	}
}
