package performance

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/test/requests"
)

func TestRestartBounds(t *testing.T) {
	row := func(cluster, verb, resource string, n int) requests.Row {
		return requests.Row{Key: requests.Key{Cluster: cluster, Verb: verb, Resource: resource, Class: requests.Work}, Count: requests.Count{Requests: n}}
	}
	right := func() RestartResult {
		return RestartResult{Pods: 500, Seconds: 0.5, Rows: []requests.Row{row(consumer, requests.Watch, "pods", 2), row("p1", requests.Watch, "pods", 1)}}
	}
	for what, test := range map[string]struct {
		spoil func(*RestartResult)
		want  []string // Part of one error each.
	}{
		"as it should be": {func(*RestartResult) {}, nil},
		"a write": {func(r *RestartResult) {
			r.Writes, r.Rows = 1, append(r.Rows, row("p1", requests.Patch, "pods", 1))
		}, []string{"1 times patch pods in cluster p1"}},
		"a write that no row has": {func(r *RestartResult) { r.Writes = 1 }, []string{"1 writes"}},
		"a changed object":        {func(r *RestartResult) { r.Changed = []string{"p1: pod a"} }, []string{"changed by a restart: [p1: pod a]"}},
		"a read more":             {func(r *RestartResult) { r.Rows = append(r.Rows, row("p1", requests.List, "pods", 1)) }, []string{"and with 500 pods"}},
		"no reads in a provider":  {func(r *RestartResult) { r.Rows = r.Rows[:1] }, []string{"it cannot be seen", "and with 500 pods"}},
		"no reads in the consumer": {func(r *RestartResult) { r.Rows = r.Rows[1:] }, []string{
			"0 times in the consumer and 1 times in a provider", "and with 500 pods",
		}},
		"no request at all in time": {func(r *RestartResult) { r.Seconds = -3 }, []string{"it cannot be seen"}},
	} {
		t.Run(what, func(t *testing.T) {
			result := right()
			test.spoil(&result)
			broken := result.Broken(right())
			if len(broken) != len(test.want) {
				t.Fatalf("got %v, want %d errors", broken, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(broken[i].Error(), want) {
					t.Errorf("got %v, want an error about %q", broken[i], want)
				}
			}
		})
	}
	if broken := (RestartResult{}).Broken(RestartResult{}); len(broken) != 1 {
		t.Errorf("a log that shows nothing: got %v, want one error", broken)
	}
}
