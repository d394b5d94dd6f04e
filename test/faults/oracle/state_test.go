package oracle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	localPodUID = "00000000-0000-0000-0000-00000000000a"
	formerUID   = "00000000-0000-0000-0000-00000000000b"
	remoteUID   = "00000000-0000-0000-0000-00000000000c"
)

func TestState(t *testing.T) {
	h := history(
		before(here(object("Namespace", "", "kube-system", uid(origin)))),
		here(object("Pod", "team-a", "web", uid(formerUID))),
		end(here(object("Pod", "team-a", "web", uid(formerUID)))),
		here(object("Pod", "team-a", "web", uid(localPodUID), by("kubectl"), annotated("spillway.io/last-sync-time", "2026-01-01T00:00:00Z"), annotated("spillway.io/remote-uid", remoteUID),
			with([]string{"metadata", "generation"}, int64(3)), with([]string{"metadata", "creationTimestamp"}, "2026-01-01T00:00:00Z"),
			with([]string{"status"}, map[string]any{"podIP": "10.0.0.1", "observedGeneration": int64(2), "conditions": []any{
				map[string]any{"type": "Ready", "observedGeneration": int64(3)}, map[string]any{"type": "Initialized"},
			}}))),
		here(object("Secret", "team-a", "password", with([]string{"data"}, map[string]any{"key": "dmFsdWU="}))),
		here(object("Node", "", "consumer-node")),
		there(object("Pod", "mount-c0", "team-a-web-0123", uid(remoteUID), marked, standsFor(formerUID),
			annotated(v1alpha1.AnnotationLocalName, "web"), annotated(v1alpha1.AnnotationLocalNamespace, "team-a"), with([]string{"metadata", "deletionTimestamp"}, "2026-01-01T00:00:00Z"))),
	)
	got, err := h.State()
	if err != nil {
		t.Fatal(err)
	}
	want := State{
		"consumer Pod team-a/web": `apiVersion: v1
kind: Pod
metadata:
  annotations:
    spillway.io/last-sync-time: <time>
    spillway.io/remote-uid: <uid of p1 Pod mount-<consumer>/<hashed team-a/web>>
  name: web
  namespace: team-a
status:
  conditions:
  - type: Initialized
  - observedGeneration: current
    type: Ready
  observedGeneration: 1 behind
  podIP: <address>
`,
		"consumer Secret team-a/password": `apiVersion: v1
data:
  key: sha256 8d751e10aba4
kind: Secret
metadata:
  name: password
  namespace: team-a
`,
		"p1 Pod mount-<consumer>/<hashed team-a/web>": `apiVersion: v1
kind: Pod
metadata:
  annotations:
    spillway.io/local-name: web
    spillway.io/local-namespace: team-a
    spillway.io/local-uid: <uid of a former consumer Pod team-a/web>
  deletionTimestamp: set
  labels:
    spillway.io/binding: p1
    spillway.io/managed-by: spillway
    spillway.io/origin: <uid of consumer Namespace kube-system>
  name: <hashed team-a/web>
  namespace: mount-<consumer>
`,
	}
	want["consumer Secret team-a/password"] = strings.ReplaceAll(want["consumer Secret team-a/password"], "8d751e10aba4", hashOf(got["consumer Secret team-a/password"]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	counts := map[string]int{"consumer Pod": 1, "consumer Pod ever": 2, "consumer Secret": 1, "consumer Secret ever": 1, "p1 Pod": 1, "p1 Pod ever": 1}
	if diff := cmp.Diff(counts, h.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// hashOf returns the hash in a Secret's state. Only its presence matters.
func hashOf(text string) string {
	_, rest, _ := strings.Cut(text, "sha256 ")
	hash, _, _ := strings.Cut(rest, "\n")
	return hash
}

func TestDiff(t *testing.T) {
	want := State{"a": "x: 1\ny: 2\n", "b": "z\n"}
	if diff := Diff(want, State{"a": "x: 1\ny: 2\n", "b": "z\n"}); diff != "" {
		t.Errorf("equal states differ: %s", diff)
	}
	diff := Diff(want, State{"a": "x: 1\ny: 3\n", "c": "z\n"})
	for _, part := range []string{"a differs", "y: 2", "y: 3", "b is missing", "c should not be there"} {
		if !strings.Contains(diff, part) {
			t.Errorf("%q is not in:\n%s", part, diff)
		}
	}
	if diff := DiffCounts(map[string]int{"a": 1}, map[string]int{"a": 1, "b": 0}); diff != "" {
		t.Errorf("equal counts differ: %s", diff)
	}
	if diff := DiffCounts(map[string]int{"a": 1}, map[string]int{"b": 2}); diff != "a: 0, want 1\nb: 2, want 0\n" {
		t.Errorf("got %q", diff)
	}
}

// Two runs are equal if they differ only in what is masked. A run that points at another object differs.
func TestStatesOfTwoRuns(t *testing.T) {
	run := func(consumerID, local, named string) State {
		h := history(
			here(object("Pod", "team-a", "web", uid(local))),
			here(object("Pod", "team-a", "other", uid(formerUID))),
			there(object("Pod", "team-a-"+consumerID, "web", uid(remoteUID), marked, standsFor(named))),
		)
		h.ConsumerID = consumerID
		state, err := h.State()
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	first := run("c0", localPodUID, localPodUID)
	if diff := Diff(first, run("c1", "00000000-0000-0000-0000-00000000000d", "00000000-0000-0000-0000-00000000000d")); diff != "" {
		t.Errorf("runs on two lanes differ:\n%s", diff)
	}
	if diff := Diff(first, run("c0", localPodUID, formerUID)); diff == "" {
		t.Error("a remote pod that stands for another local one is taken for the same")
	}
}
