// Package kube tests the scripts that make kube runs.
package kube

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// fakeGo stands for the go command: it "compiles" any package to a script.
const fakeGo = `#!/bin/sh
case "$1 $2" in
"env GOVERSION") echo go99.0 ;;
"env GOOS") echo linux; echo amd64 ;;
"env GOPROXY") echo off ;;
list*) echo package ;;
run*) for to; do :; done; echo '#!/bin/sh' >"$to"; chmod +x "$to"; echo "$to" >&2 ;;
esac
`

// mirror serves official binaries of every version, and counts the requests.
type mirror struct {
	asked   atomic.Int32
	corrupt string // The name of the file whose content is not the published one.
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.asked.Add(1)
	name := filepath.Base(r.URL.Path)
	file, _ := strings.CutSuffix(name, ".sha256")
	if name == "SHA256SUMS" {
		file = "etcd-" + filepath.Base(filepath.Dir(r.URL.Path)) + "-linux-amd64.tar.gz"
	}
	content := []byte("#!/bin/sh\necho " + file)
	if strings.HasSuffix(file, ".tar.gz") {
		content = archive(strings.TrimSuffix(file, ".tar.gz") + "/etcd")
	}
	switch {
	case name != file:
		_, _ = fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(content), file)
	case strings.Contains(file, m.corrupt) && m.corrupt != "":
		_, _ = w.Write(append(content, '!'))
	default:
		_, _ = w.Write(content)
	}
}

func archive(file string) []byte {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	_ = files.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: 1})
	_, _ = files.Write([]byte("e"))
	_, _ = files.Close(), zip.Close()
	return packed.Bytes()
}

// checkout is a clone with nothing but the scripts.
func checkout(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "hack", "kube"), os.DirFS("../../hack/kube")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go"), []byte(fakeGo), 0o755); err != nil { //nolint:gosec // It is a program.
		t.Fatal(err)
	}
	return root
}

// makeKube runs what make kube runs.
func makeKube(t *testing.T, root string, env ...string) (says string, err error) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "hack", "kube", "build.sh"))
	run.Env = append(os.Environ(), append(env, "GO="+filepath.Join(root, "go"), "KUBE_VERSION=")...)
	output, err := run.CombinedOutput()
	return string(output), err
}

// TestMakeKube: binaries are downloaded if there are any, and never believed without their published sum.
func TestMakeKube(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are official binaries for Linux only")
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		kube, corrupt string
		off           bool
		says          string
		has, lacks    string // Programs.
		fails         bool
	}{
		"by itself":                {kube: "auto", says: "downloading kube-apiserver", has: "etcd", lacks: "kubelet"},
		"on request":               {kube: "download", says: "downloading kube-apiserver", has: "kubectl", lacks: "kubelet"},
		"built on request":         {kube: "build", says: "building kwok kwokctl kube coredns of Kubernetes", has: "kubelet"},
		"behind a closed network":  {kube: "auto", off: true, says: "building from source: no answer within 3 s", has: "kubelet"},
		"requested, but closed":    {kube: "download", off: true, says: "KUBE=download: no answer", fails: true, lacks: "kube-apiserver"},
		"another program":          {kube: "auto", corrupt: "kube-scheduler", says: "the SHA-256 of kube-scheduler is not the published one", fails: true, lacks: "kube-apiserver"},
		"another archive":          {kube: "auto", corrupt: "etcd", says: "the SHA-256 of etcd-v", fails: true, lacks: "etcd"},
		"a word that is not known": {kube: "fetch", says: "KUBE=fetch: must be auto, build or download", fails: true, lacks: "kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &mirror{corrupt: test.corrupt}
			server := httptest.NewServer(m)
			defer server.Close()
			url := server.URL
			if test.off {
				url = closed.URL
			}
			root := checkout(t)
			says, err := makeKube(t, root, "KUBE="+test.kube, "KUBE_MIRROR="+url)
			if (err != nil) != test.fails || !strings.Contains(says, test.says) {
				t.Errorf("error %v, and it says:\n%s", err, says)
			}
			there := func(program string) bool {
				_, err := os.Stat(filepath.Join(root, "bin", "kube", program))
				return err == nil
			}
			if test.has != "" && (!there(test.has) || !there("kube-apiserver") || !there("kwok")) || test.lacks != "" && there(test.lacks) {
				entries, _ := os.ReadDir(filepath.Join(root, "bin", "kube"))
				t.Errorf("there are %v", entries)
			}
			if test.fails {
				return
			}
			before := m.asked.Load()
			if says, err := makeKube(t, root, "KUBE="+test.kube, "KUBE_MIRROR="+url); says != "" || err != nil || m.asked.Load() != before {
				t.Errorf("when all is there, error %v, %d requests: %s", err, m.asked.Load()-before, says)
			}
		})
	}
}
