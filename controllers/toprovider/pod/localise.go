package pod

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/names"
	"github.com/spillway-io/spillway/internal/field"
)

// fieldReferences are the fields of a pod whose value in the provider differs from its value in the
// consumer. In environment variables, the consumer's value replaces the reference. Files follow
// changes, so they refer to an annotation with the value instead.
//
// All other fields are the same in both clusters, or only the provider knows them. Containers can read
// labels and annotations from the environment even if they are not sent. No controller treats them as a
// command there.
var fieldReferences = map[string]struct {
	value      func(*corev1.Pod) string
	annotation string // empty where volumes do not have the field
}{
	"metadata.name":        {func(p *corev1.Pod) string { return p.Name }, v1alpha1.AnnotationLocalName},
	"metadata.namespace":   {func(p *corev1.Pod) string { return p.Namespace }, v1alpha1.AnnotationLocalNamespace},
	"metadata.uid":         {func(p *corev1.Pod) string { return string(p.UID) }, v1alpha1.AnnotationLocalUID},
	"spec.nodeName":        {func(p *corev1.Pod) string { return p.Spec.NodeName }, ""},
	"metadata.labels":      {func(p *corev1.Pod) string { return formatMap(p.Labels) }, v1alpha1.AnnotationLocalLabels},
	"metadata.annotations": {func(p *corev1.Pod) string { return formatMap(p.Annotations) }, v1alpha1.AnnotationLocalAnnotations},
	"spec.serviceAccountName": {
		func(p *corev1.Pod) string { return p.Spec.ServiceAccountName }, "",
	},
}

// localise rewrites what a remote spec says about other objects and about the pod itself. Names become
// the remote names, and the pod sees itself as in the consumer. spec must be a copy that shares no
// memory with local.
func localise(spec *corev1.PodSpec, local *corev1.Pod, t field.Target, limits *field.Limits) {
	if t.Hashed {
		for _, place := range names.Places(spec) {
			if *place.Name != "" {
				*place.Name = t.Name(local.Namespace, *place.Name)
			}
		}
	}
	for _, c := range names.AllContainers(spec) {
		for i := range c.Env {
			localiseVariable(&c.Env[i], local, limits)
		}
	}
	for _, field := range fileFields(spec) {
		if known := fieldReferences[field.FieldPath]; known.annotation != "" {
			field.FieldPath = ofAnnotation(known.annotation)
		} else {
			field.FieldPath = byAlias(field.FieldPath)
		}
	}
}

// byAlias returns the path of a label's alias for the path of the label, so that a file of it follows changes
// whatever the limits allow. Other paths stay.
func byAlias(path string) string {
	if key, is := strings.CutPrefix(path, ofLabel); is {
		if alias := field.Alias(strings.TrimSuffix(key, "']")); alias != "" {
			return ofLabel + alias + "']"
		}
	}
	return path
}

// fileFields returns the fields of a pod that its volumes show as files.
func fileFields(spec *corev1.PodSpec) []*corev1.ObjectFieldSelector {
	var fields []*corev1.ObjectFieldSelector
	add := func(files []corev1.DownwardAPIVolumeFile) {
		for i := range files {
			if files[i].FieldRef != nil {
				fields = append(fields, files[i].FieldRef)
			}
		}
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.DownwardAPI != nil {
			add(v.DownwardAPI.Items)
		}
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			if downward := v.Projected.Sources[j].DownwardAPI; downward != nil {
				add(downward.Items)
			}
		}
	}
	return fields
}

// These begin the paths of a label and an annotation.
const (
	ofLabel         = "metadata.labels['"
	ofOneAnnotation = "metadata.annotations['"
)

func ofAnnotation(key string) string { return ofOneAnnotation + key + "']" }

// fillFiles adds annotations to a remote pod that its files refer to: all labels or annotations of the
// local pod. Other pods do not need these.
func fillFiles(annotations map[string]string, remote *corev1.PodSpec, local *corev1.Pod) {
	for _, field := range fileFields(remote) {
		for path, known := range fieldReferences {
			if wholeMap(path) && field.FieldPath == ofAnnotation(known.annotation) {
				annotations[known.annotation] = known.value(local)
			}
		}
	}
}

func wholeMap(path string) bool { return path == "metadata.labels" || path == "metadata.annotations" }

// formatMap formats labels or annotations as a kubelet does. It leaves out Spillway's own. They change
// with each status, and would change the file each time.
func formatMap(all map[string]string) string {
	var text []byte
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if field.IsOurs(key) {
			continue
		}
		if len(text) > 0 {
			text = append(text, '\n')
		}
		text = strconv.AppendQuote(append(text, key+"="...), all[key])
	}
	return string(text)
}

func localiseVariable(env *corev1.EnvVar, local *corev1.Pod, limits *field.Limits) {
	if env.ValueFrom == nil || env.ValueFrom.FieldRef == nil {
		return
	}
	path := env.ValueFrom.FieldRef.FieldPath
	if field, known := fieldReferences[path]; known {
		env.Value, env.ValueFrom = field.value(local), nil
	} else if value, withheld := withheldValue(path, local, limits); withheld {
		env.Value, env.ValueFrom = strings.ReplaceAll(value, "$", "$$"), nil
	}
}
