package performance

import (
	"math"
	"strings"
	"testing"
)

// offloadedTo is a correct result with three providers.
func offloadedTo(n int) Result {
	return Result{
		N: n, Providers: 3,
		Offload: Phase{RemoteCreates: 3 * n, MapSpecWrites: 10, MapStatusWrites: 5, MostStatusWrites: 3, Requests: 100 + 5*n, BytesSent: int64(n) << 12},
		Delete: Phase{
			RemoteDeletes: 3 * n, MapSpecWrites: 66, MapStatusWrites: 33, MostStatusWrites: 5, Counted: 10.9,
			Requests: 200 + 6*n, BytesSent: int64(n*n) << 10,
		},
	}
}

// few makes it a run of eight offloadings, with that many writes of specs and six of statuses.
func few(r *Result, specs int) {
	*r = offloadedTo(8)
	r.Offload.MapSpecWrites, r.Offload.MapStatusWrites = specs, 6
}

func TestNamespacesBounds(t *testing.T) {
	for what, test := range map[string]struct {
		spoil func(*Result)
		want  string // Part of the one error; none if empty.
	}{
		"as it should be":               {func(*Result) {}, ""},
		"a remote namespace too few":    {func(r *Result) { r.Offload.RemoteCreates-- }, "namespaces created: 299, want exactly 300"},
		"a remote namespace left":       {func(r *Result) { r.Delete.RemoteDeletes-- }, "namespaces deleted"},
		"a map written for a few":       {func(r *Result) { r.Offload.MapSpecWrites = 15 }, "writes of NamespaceMaps: 20, want fewer than 20"},
		"a few offloadings":             {func(r *Result) { few(r, 6) }, ""},
		"a few, and a map for each":     {func(r *Result) { few(r, 7) }, "writes of NamespaceMaps: 13, want fewer than 13"},
		"a status written too often":    {func(r *Result) { r.Offload.MostStatusWrites++ }, "status writes of an offloading"},
		"the same of a deletion":        {func(r *Result) { r.Delete.MostStatusWrites++ }, "status writes of a deletion"},
		"specs written out of pace":     {func(r *Result) { r.Delete.MapSpecWrites++ }, "spec writes of NamespaceMaps, deleting: 67, want at most 66"},
		"statuses written out of pace":  {func(r *Result) { r.Delete.MapStatusWrites++ }, "status writes of NamespaceMaps, deleting: 34, want at most 33"},
		"refused ones do not wait":      {func(r *Result) { r.Delete.MapStatusWrites, r.Delete.MapStatusRefused = 40, 7 }, ""},
		"nor do those of the spec":      {func(r *Result) { r.Delete.MapSpecWrites, r.Delete.MapSpecRefused = 73, 7 }, ""},
		"a write after a restart":       {func(r *Result) { r.Restart.Writes = 1 }, "writes after a restart"},
		"an object that it has changed": {func(r *Result) { r.ChangedByRestart = []string{"a"} }, "objects changed by a restart"},
		"a write that changes nothing":  {func(r *Result) { r.Delete.NoOps = 1 }, "writes that change nothing"},
		"a difference":                  {func(r *Result) { r.Differences = []string{"get pods in p1: 2 by the transports, 1 by the audit log"} }, "audit logs: get pods in p1: 2"},
	} {
		t.Run(what, func(t *testing.T) {
			result := offloadedTo(100)
			test.spoil(&result)
			broken := result.Broken()
			if test.want == "" && len(broken) > 0 {
				t.Errorf("got %v, want none", broken)
			}
			if test.want != "" && (len(broken) != 1 || !strings.Contains(broken[0].Error(), test.want)) {
				t.Errorf("got %v, want one error about %q", broken, test.want)
			}
		})
	}
}

func TestNamespacesGrowth(t *testing.T) {
	of := func(sizes ...int) Report {
		var report Report
		for _, n := range sizes {
			report.Results = append(report.Results, offloadedTo(n))
		}
		return report
	}
	for what, report := range map[string]Report{"two sizes": of(100, 200), "one size, thrice": of(100, 100, 100)} {
		if report.grow() || report.OffloadGrowth != nil || report.growth() != "" || len(report.BrokenGrowth()) > 0 {
			t.Errorf("%s: growth is told: %q", what, report.growth())
		}
	}
	report := of(100, 200, 400)
	if !report.grow() || len(report.BrokenGrowth()) > 0 {
		t.Fatalf("of three sizes on a line: %v", report.BrokenGrowth())
	}
	if square := report.DeleteKiB.Square; math.Abs(square-1) > 0.01 {
		t.Errorf("the share of N² in bytes that are nothing else is %v", square)
	}
	for _, want := range []string{
		"Growth, offloading: requests = 100 + 5.000·N; ", "Growth, deleting: requests = 200 + 6.000·N; ",
		"Growth, offloading: KiB sent = 0 + 4.000·N; no point is further than 0.0 % off the line",
		"an N² term has 100.0 % of the KiB sent at the largest N.",
	} {
		// Zero may come out as slightly negative.
		if text := strings.ReplaceAll(report.Markdown(), "= -0 ", "= 0 "); !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for i := range report.Results {
		report.Results[i].Offload.Requests = report.Results[i].N * report.Results[i].N
	}
	report.grow()
	if broken := report.BrokenGrowth(); len(broken) != 1 || !strings.Contains(broken[0].Error(), "offloading does not grow linearly") {
		t.Errorf("N² requests: got %v, want one error about them", broken)
	}
}
