package plugin

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dumps looks for the values of a Secret, a ConfigMap and an environment variable in the archive.
func dumps(t *testing.T) {
	const canary = "canary-0f1e2d3c"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "dumped"}, StringData: map[string]string{"key": canary}}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "dumped"}, Data: map[string]string{"key": canary}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "dumped", Annotations: map[string]string{"example.com/auth": canary}}, Spec: corev1.PodSpec{
		NodeName: "no-node", Containers: []corev1.Container{{Name: "c", Image: "none", Args: []string{canary}, Env: []corev1.EnvVar{{Name: "KEY", Value: canary}}}},
	}}
	for _, err := range []error{inConsumer.Create(t.Context(), secret), inConsumer.Create(t.Context(), settings), inConsumer.Create(t.Context(), pod)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if err := inConsumer.Delete(t.Context(), pod); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(t.TempDir(), "dump.tar.gz")
	if _, err := spillway(t, "dump", "--file", file, "--provider-context", "eu"); err != nil {
		t.Fatal(err)
	}
	if out, err := spillway(t, "version"); err != nil || !strings.Contains(out, "\nmanager: none:1\n") {
		t.Errorf("version says %s, %v", out, err)
	}
	fails(t, "file exists", "dump", "--file", file)
	got := unpack(t, file)
	for _, name := range []string{"versions.txt", "status.txt", "doctor.txt", "definitions.txt", "cluster/clusterbinding.yaml", "cluster/node.yaml",
		"team-a/pod.yaml", "spillway-system/deployment.yaml", "provider/spillway-provider/configmap.yaml", "provider/namespaces/team-a-home.yaml"} {
		if got["spillway-dump/"+name] == "" {
			t.Errorf("%s is missing; there are %s", name, strings.Join(slices.Sorted(maps.Keys(got)), ", "))
		}
	}
	if pods := got["spillway-dump/team-a/pod.yaml"]; !strings.Contains(pods, "name: dumped") || !strings.Contains(pods, "name: KEY") {
		t.Errorf("the pod is not there:\n%s", pods)
	}
	for name, content := range got {
		if strings.Contains(content, canary) || strings.Contains(content, "eyJhbGciOi") {
			t.Errorf("%s has a credential", name)
		}
	}
}

func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	packed, err := os.Open(file) //nolint:gosec // The test has made it.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	zip, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	files, got := tar.NewReader(zip), map[string]string{}
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = string(content)
	}
}
