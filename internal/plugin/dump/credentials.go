package dump

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

const leftOut = "(left out)"

// credentials are the forms of credentials that can be told from other text, with what replaces them.
var credentials = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), leftOut},
	{regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)?`), leftOut}, // A JSON web token.
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}`), "$1 " + leftOut},
	{regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`), leftOut}, // An access key of AWS.
	{regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:password|passwd|client[-_]?secret|secret[-_]?access[-_]?key|api[-_]?key|access[-_]?token)["']?\s*[:=]\s*["']?)[^\s"',}]+`), "$1" + leftOut},
	{regexp.MustCompile(`(://[^\s/:@]+:)[^\s/@]+@`), "$1" + leftOut + "@"},
}

// withoutCredentials replaces what looks like a credential.
func withoutCredentials(text string) string {
	for _, one := range credentials {
		text = one.form.ReplaceAllString(text, one.with)
	}
	return text
}

// strip removes from an object what may have a credential of any form, and what nobody needs. A program of Spillway
// keeps its arguments.
func strip(object *unstructured.Unstructured, ours bool) {
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	for key := range annotations {
		if key == corev1.LastAppliedConfigAnnotation || key == v1alpha1.AnnotationLocalAnnotations || !field.IsOurs(key) && !ofKubernetes(key) {
			delete(annotations, key)
		}
	}
	object.SetAnnotations(annotations)
	for _, spec := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		for _, kind := range []string{"containers", "initContainers", "ephemeralContainers"} {
			each(object.Object, append(spec[:len(spec):len(spec)], kind), func(container map[string]any) { stripContainer(container, ours) })
		}
	}
	unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "annotations")
	for _, kind := range []string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
		each(object.Object, []string{"status", kind}, stripState)
	}
}

// ofKubernetes reports whether Kubernetes itself reads an annotation.
func ofKubernetes(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".kubernetes.io") || strings.HasSuffix(prefix, ".k8s.io")
}

func stripContainer(container map[string]any, ours bool) {
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"} {
		delete(container, name)
	}
	for _, name := range []string{"command", "args"} {
		if _, there := container[name]; there && !ours {
			container[name] = []any{leftOut}
		}
	}
	each(container, []string{"env"}, func(variable map[string]any) {
		if _, there := variable["value"]; there {
			variable["value"] = leftOut
		}
	})
}

// stripState removes the last words of a container, which it has written itself.
func stripState(status map[string]any) {
	for _, state := range []string{"state", "lastState"} {
		if _, there, _ := unstructured.NestedString(status, state, "terminated", "message"); there {
			_ = unstructured.SetNestedField(status, leftOut, state, "terminated", "message")
		}
	}
}

// each calls change for each object in a list.
func each(in map[string]any, path []string, change func(map[string]any)) {
	found, _, _ := unstructured.NestedFieldNoCopy(in, path...)
	list, _ := found.([]any)
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			change(object)
		}
	}
}
