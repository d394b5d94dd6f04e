package hosted

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
)

const two = `apiVersion: v1
kind: ConfigMap
metadata: {name: eu}
--- # The next one.
apiVersion: hosted.spillway.io/v1alpha1
kind: HostedCluster
metadata: {name: us}
---
# Ours.
apiVersion: hosted.spillway.io/v1alpha1
kind: HostedCluster
metadata: {name: eu}
spec: {paused: true}
`

func TestDocument(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll(two, "\n", end)
		h, begin, until, err := document([]byte(text), "eu")
		if err != nil || !h.Spec.Paused {
			t.Fatalf("got %+v, %v", h, err)
		}
		if got := text[begin:until]; !strings.HasPrefix(got, "# Ours.") || !strings.HasSuffix(got, "true}"+end) {
			t.Errorf("got %q", got)
		}
	}
	for text, want := range map[string]string{
		two:       "it has no HostedCluster asia, but us, eu",
		"":        "it has no HostedCluster asia",
		"a: b: c": "document 1: ",
	} {
		if _, _, _, err := document([]byte(text), "asia"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, _, _, err := document([]byte(strings.Replace(two, "paused", "pause", 1)), "eu"); err == nil || !strings.Contains(err.Error(), `unknown field "spec.pause"`) && !strings.Contains(err.Error(), `unknown field "pause"`) {
		t.Errorf("an unknown field: %v", err)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// TestShow has a plan with everything that a plan can say.
func TestShow(t *testing.T) {
	at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	plan := &preview.Plan{
		Name: "eu", Changes: true,
		Fields: []preview.Field{
			{Path: "region", State: "Agreed", Base: raw(`"r"`), Spec: raw(`"r"`), Cloud: raw(`"r"`)},
			{Path: `tags["a"]`, State: "Conflict", Base: raw(`"0"`), Spec: raw(`"1"`), Cloud: raw(`"2"`), Since: &at},
			{Path: `pools["x"]`, State: "Pushed", Spec: raw(`"exists"`), Cloud: raw(`"absent"`)},
		},
		InProgress: []preview.Request{{Call: "Tag", Changes: []preview.Change{{Path: `tags["b"]`, From: raw("null"), To: raw(`"1"`)}}, Guard: merge.ByReading, Rights: []string{"tag"}}},
		Requests: []preview.Request{{
			Call: "Create", Item: `pools["x"]`, Changes: []preview.Change{{Path: `pools["x"]`, From: raw(`"absent"`), To: raw(`"exists"`)}},
			Guard: merge.ByVersion, Nodes: merge.NodesAdded, Rights: []string{"create", "pass"}, Refused: "the quota", RetryAt: &at,
		}, {Call: "Delete", Item: `pools["y"]`, Guard: merge.ByOperations, Nodes: merge.NodesRemoved, Rights: []string{"delete"}, Together: true, Waits: "Create was refused"}},
		SpecWrites: []preview.Change{{Path: "version", From: raw(`"1"`), To: raw(`"` + strings.Repeat("x", 100) + `"`)}},
		Lost:       []preview.Loss{{Path: "version", Take: merge.Upstream, Kept: raw(`"2"`), Lost: raw(`"1"`)}},
		Notes:      []string{"somebody else is changing the cluster"},
	}
	want := `HostedCluster eu: 2 requests to the cloud, 1 field of the spec is overwritten, 1 field waits for a decision

FIELD        BEFORE   SPEC     CLOUD    STATE
tags["a"]    "0"      "1"      "2"      Conflict since 2026-11-28 10:00:00 UTC
pools["x"]   -        exists   absent   Pushed
Conflict: both sides have changed it, so it waits for a decision: kubectl spillway hosted resolve
Pushed: the spec is sent to the cloud
1 field agrees (--all shows it)

in progress, and taken as done:
  Tag
      tags["b"]: null -> "1"
      guard: the operator reads the values right before and after
      nodes: stay
      takes: tag

requests to the cloud, in this order:
 1. Create pools["x"]
      pools["x"]: absent -> exists
      guard: the cloud refuses the request if somebody has changed it since the last read
      nodes: are created
      takes: create, pass
      REFUSED by the cloud, and sent again at 10:00:00 UTC: the quota
 2. Delete pools["y"]
      guard: the operator reads the cloud's list of operations before and after, and names what was overwritten
      nodes: are deleted with their pool
      takes: delete
      together with requests for other pools, at the same time
      WAITS because Create was refused

written to the spec (sync.writeBack):
    version: "1" -> "` + strings.Repeat("x", 58) + `…

lost, although the author of the value does not know:
    version: "1" in the spec is overwritten with "2"

note: somebody else is changing the cluster
`
	var out strings.Builder
	if err := show(&out, plan, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for state := range meaning {
		if state == "" || meaning[state] == "" {
			t.Errorf("%q has no meaning", state)
		}
	}
	if err := show(failing{}, plan, true); err == nil {
		t.Error("an error is swallowed")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }
