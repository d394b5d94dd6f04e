package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// boundRemote is the remote pod of bound. <name> stands for the remote name of name.
const boundRemote = `
spec:
  automountServiceAccountToken: false
  tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
  imagePullSecrets: [{name: <pull>}]
  initContainers: [{name: init, image: "init:1", volumeMounts: []}]
  containers:
  - name: web
    image: web:1
    envFrom: [{configMapRef: {name: <env>}}]
    env:
    - {name: NAME, value: web}
    - {name: NAMESPACE, value: team}
    - {name: UID, value: uid}
    - {name: NODE, value: spillway-eu}
    - {name: ACCOUNT, value: builder}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: APP, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    volumeMounts: [{name: scratch, mountPath: /s}]
  volumes:
  - {name: scratch, persistentVolumeClaim: {claimName: <web-scratch>}}
  - name: info
    downwardAPI: {items: [{path: name, fieldRef: {fieldPath: "metadata.annotations['spillway.io/local-name']"}}, {path: labels, fieldRef: {fieldPath: "metadata.annotations['spillway.io/local-labels']"}}, {path: cpu, resourceFieldRef: {resource: limits.cpu}}]}
  - name: all
    projected: {sources: [{downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: "metadata.annotations['spillway.io/local-namespace']"}}, {path: uid, fieldRef: {fieldPath: "metadata.annotations['spillway.io/local-uid']"}}, {path: annotations, fieldRef: {fieldPath: "metadata.annotations['spillway.io/local-annotations']"}}]}}, {secret: {name: <s>}}]}`

func TestPod(t *testing.T) {
	tests := map[string]struct {
		target   field.Target
		hostname string
	}{
		"mapped": {fieldtest.Mapped, ""},
		"shared": {fieldtest.Shared, "web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := boundRemote
			for _, name := range []string{"pull", "env", "web-scratch", "s"} {
				manifest = strings.ReplaceAll(manifest, "<"+name+">", test.target.Name("team", name))
			}
			want := fieldtest.Parse[corev1.Pod](t, manifest)
			want.Spec.Hostname = test.hostname

			local := fieldtest.PodOf(t, fieldtest.Bound)
			before := local.DeepCopy()
			remote := sentPod(t, local, test.target)
			if diff := cmp.Diff(want.Spec, remote.Spec); diff != "" {
				t.Error(diff)
			}
			want.ObjectMeta = field.Metadata(local, test.target)
			want.Annotations[v1alpha1.AnnotationSpecHash] = specHash(local, nil, remote.Spec.Tolerations)
			want.Annotations[v1alpha1.AnnotationLocalLabels], want.Annotations[v1alpha1.AnnotationLocalAnnotations] = `app="web"`, `note="hello"`
			if diff := cmp.Diff(want.ObjectMeta, remote.ObjectMeta); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local pod was changed: %s", diff)
			}
		})
	}
}

// TestFilesOfAllLabels: a pod reads the labels that its owner wrote, in a kubelet's format, and with
// current values. A pod that does not ask for them, or was sent before, causes no write.
func TestFilesOfAllLabels(t *testing.T) {
	local := fieldtest.PodOf(t, `
metadata: {labels: {b.example.com/x: "1", a: ""}, annotations: {note: "two\nlines \"quoted\"", spillway.io/remote-uid: x, kubernetes.io/config.seen: ü}}
spec: {containers: [{name: web}], volumes: [{name: info, downwardAPI: {items: [
  {path: l, fieldRef: {fieldPath: metadata.labels}}, {path: a, fieldRef: {fieldPath: metadata.annotations}}]}}]}`)
	remote := sentPod(t, local, fieldtest.Mapped)
	read := func(remote *corev1.Pod) [2]string {
		return [2]string{remote.Annotations[v1alpha1.AnnotationLocalLabels], remote.Annotations[v1alpha1.AnnotationLocalAnnotations]}
	}
	want := [2]string{"a=\"\"\nb.example.com/x=\"1\"", "kubernetes.io/config.seen=\"ü\"\nnote=\"two\\nlines \\\"quoted\\\"\""}
	if diff := cmp.Diff(want, read(remote)); diff != "" {
		t.Error(diff)
	}
	local.Annotations["spillway.io/remote-uid"] = "y"
	if changes := Update(local, remote, fieldtest.Mapped, &field.Limits{}); changes.Main != nil {
		t.Error("what Spillway writes is shown")
	}
	local.Labels, local.Annotations = map[string]string{"a": "2"}, nil
	if diff := cmp.Diff([2]string{`a="2"`, ""}, read(Update(local, remote, fieldtest.Mapped, &field.Limits{}).Main)); diff != "" {
		t.Errorf("changed: %s", diff)
	}
	remote.Spec.Volumes = nil
	if got := read(Update(local, remote, fieldtest.Mapped, &field.Limits{}).Main); got != read(remote) {
		t.Errorf("it shows none, and gets %v", got)
	}
}

// The local pod comes from a cache, so a change of the remote pod must not change it.
func TestPodSharesNoMemory(t *testing.T) {
	local := fieldtest.PodOf(t, fieldtest.Bound)
	before := local.DeepCopy()
	remote := sentPod(t, local, fieldtest.Mapped)
	remote.Labels["app"], remote.Annotations["note"] = "x", "x"
	remote.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](1)
	*remote.Spec.Tolerations[0].TolerationSeconds = 2
	remote.Spec.Containers[0].Env[5].ValueFrom.FieldRef.FieldPath = "x"
	remote.Spec.Volumes[1].DownwardAPI.Items[1].FieldRef.FieldPath = "x"
	if diff := cmp.Diff(before, local); diff != "" {
		t.Error(diff)
	}
}

func TestHostname(t *testing.T) {
	tests := map[string]struct {
		target   field.Target
		name     string
		hostname string
		want     string
	}{
		"hashed":                       {fieldtest.Shared, "web", "", "web"},
		"not hashed":                   {fieldtest.Mapped, "web", "", ""},
		"set by the user":              {fieldtest.Shared, "web", "mine", "mine"},
		"long":                         {fieldtest.Shared, strings.Repeat("a", 253), "", strings.Repeat("a", 63)},
		"long, cut behind a separator": {fieldtest.Shared, strings.Repeat("a", 62) + "-b", "", strings.Repeat("a", 62)},
		"with dots":                    {fieldtest.Shared, "web.example", "", ""},
		"with a dot behind the cut":    {fieldtest.Shared, strings.Repeat("a", 63) + ".b", "", strings.Repeat("a", 63)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web}]}}`)
			local.Name, local.Spec.Hostname = test.name, test.hostname
			if got := sentPod(t, local, test.target).Spec.Hostname; got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
