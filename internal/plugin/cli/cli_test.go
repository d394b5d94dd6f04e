package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestLoopback(t *testing.T) {
	for server, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost": true, "https://[::1]:6443": true, "https://0.0.0.0:6443": true,
		"https://10.0.0.1:6443": false, "https://eu.example.com": false, "%": false,
	} {
		if got := Loopback(server); got != want {
			t.Errorf("%s: %v", server, got)
		}
	}
}

func TestOutput(t *testing.T) {
	run := func(format string, dryRun bool) (out, errs string, summary Summary) {
		var first, second bytes.Buffer
		f := &Factory{IOStreams: genericiooptions.IOStreams{Out: &first, ErrOut: &second}}
		o, err := NewOutput(f, "bind", format, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			o.Did(Step{Cluster: "provider", Object: "role/" + name, Action: "unchanged"})
		}
		o.Did(Step{Cluster: "consumer", Object: "secret/eu", Namespace: "s", Action: "created", Message: "new"})
		o.Waiting("for eu")
		o.Waiting("for eu")
		o.Warn("careful")
		o.Did(Step{Cluster: "consumer", Object: "role/d", Action: "unchanged"})
		if dryRun {
			o.Did(Step{Cluster: "consumer", Object: "role/d", Action: "unchanged"}) // Only once.
		}
		if err := o.End(f, errors.New("failed")); err == nil || err.Error() != "failed" {
			t.Errorf("the error is %v", err)
		}
		if format != "" {
			if err := json.Unmarshal(first.Bytes(), &summary); err != nil {
				t.Fatal(err)
			}
		}
		return first.String(), second.String(), summary
	}
	const lines = "provider: 3 objects unchanged\nconsumer: secret/eu in namespace s created: new\nwaiting: for eu\n"
	if out, errs, _ := run("", false); out != lines+"consumer: role/d unchanged\n" || errs != "warning: careful\n" {
		t.Errorf("got %q and %q", out, errs)
	}
	_, errs, summary := run("json", true)
	if len(summary.Steps) != 5 || summary.Error != "failed" || !summary.DryRun || summary.Command != "bind" || !cmp.Equal(summary.Warnings, []string{"careful"}) {
		t.Errorf("got %+v", summary)
	}
	if want := "provider: 3 objects unchanged\nconsumer: secret/eu in namespace s created (dry run): new\nwaiting: for eu\nwarning: careful\nconsumer: role/d unchanged (dry run)\n"; errs != want {
		t.Errorf("got %q", errs)
	}
	if _, err := NewOutput(&Factory{}, "bind", "xml", false); err == nil {
		t.Error("-o xml is taken")
	}
}

// TestWaitingOnATerminal: a text that does not fit into a line is printed once, in full, and stays.
func TestWaitingOnATerminal(t *testing.T) {
	var out bytes.Buffer
	o := &Output{out: &out, err: &out, terminal: true, begun: time.Now()}
	long := "for " + strings.Repeat("pods, ", 20) + "because"
	for _, what := range []string{"for eu", "for us", long, long, "for eu"} {
		o.Waiting(what)
	}
	const erase = "\r\x1b[K"
	if want := erase + "waiting: for eu (0s)" + erase + "waiting: for us (0s)" + erase + "waiting: " + long + "\n" + erase + "waiting: for eu (0s)"; seconds.ReplaceAllString(out.String(), "(0s)") != want {
		t.Errorf("got %q", out.String())
	}
}

// TestWaitingInLines: of several lines, those that were said already are not printed again.
func TestWaitingInLines(t *testing.T) {
	for name, test := range map[string]struct {
		before, now []string
		want        string
	}{
		"the first time":    {nil, []string{"for eu", "for us"}, "waiting: for eu\nwaiting: for us\n"},
		"one has changed":   {[]string{"for eu", "for us"}, []string{"for eu", "for us: no"}, "waiting: for us: no\n"},
		"one is gone":       {[]string{"for eu", "for us"}, []string{"for us"}, ""},
		"nothing is new":    {[]string{"for eu", "for us"}, []string{"for us", "for eu"}, ""},
		"it was long ago":   {[]string{"for asia"}, []string{"for eu"}, "waiting: for eu\n"},
		"nothing is waited": {[]string{"for eu"}, nil, ""},
	} {
		var out bytes.Buffer
		o := &Output{out: &out, waiting: test.before}
		if o.Waiting(test.now...); out.String() != test.want {
			t.Errorf("%s: got %q", name, out.String())
		}
	}
}

// TestGaveUpAfterLines: the standard output of -o json does not have the lines that say what was waited for.
func TestGaveUpAfterLines(t *testing.T) {
	for format, want := range map[string]string{"": "--timeout has passed: run it again", "json": "--timeout has passed: run it again. Last status: for eu; for us"} {
		o := &Output{format: format, waiting: []string{"for eu", "for us"}}
		if got := o.GaveUp(ErrTime, "run it again"); got.Error() != want || !errors.Is(got, ErrTime) {
			t.Errorf("-o %s: got %v", format, got)
		}
	}
}

var seconds = regexp.MustCompile(`\(\d+s\)`)

// TestGaveUp: the meaning of a timeout is printed before a long text.
func TestGaveUp(t *testing.T) {
	err := GaveUp(ErrTime, "eu is not gone", "EvictingPods: 2 pods")
	if want := "--timeout has passed: eu is not gone. Last status: EvictingPods: 2 pods"; err.Error() != want || !errors.Is(err, ErrTime) {
		t.Errorf("got %q", err)
	}
	if got := GaveUp(ErrTime, "eu is not gone", "").Error(); got != "--timeout has passed: eu is not gone" {
		t.Errorf("got %q", got)
	}
}

func TestNoBinding(t *testing.T) {
	for want, existing := range map[string][]string{
		"there is no ClusterBinding asia; existing ones: eu, us": {"eu", "us"}, "there is no ClusterBinding asia; existing ones: none": {}, "there is no ClusterBinding asia": nil,
	} {
		if got := NoBinding("asia", existing).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRightString(t *testing.T) {
	right := Right{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "n", Name: "a"}
	if got := right.String() + "; " + (Right{Verb: "get", Group: "g", Resource: "r"}).String(); got != "create serviceaccounts/token a in namespace n; get r.g" {
		t.Error(got)
	}
}
