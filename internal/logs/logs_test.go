package logs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// saying is text once it is written.
type saying string

func (s saying) String() string { return string(s) }

func TestBounded(t *testing.T) {
	var lines []string
	log := Bounded(funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{Verbosity: 9}))
	long := strings.Repeat("ä\x1b[31m\n", 1_000_000)
	refused := fmt.Errorf("getting pod: %w", errors.New(long))
	for name, write := range map[string]func(){
		"an error":           func() { log.Error(refused, "it failed") },
		"an error as value":  func() { log.Info("it failed", "error", refused) },
		"a text":             func() { log.V(4).Info("it failed", "message", long) },
		"a message":          func() { log.Info(long) },
		"with values":        func() { log.WithValues("message", long).WithName("x").WithCallDepth(1).Info("it failed") },
		"a name of a value":  func() { log.Info("it failed", long, "x") },
		"errors":             func() { log.Info("it failed", "errors", []error{refused, refused}) },
		"bytes":              func() { log.Info("it failed", "body", []byte(long)) },
		"what becomes text":  func() { log.Info("it failed", "state", saying(long)) },
		"what is no text":    func() { log.Info("it failed", "message", strings.Repeat("\xff", 1_000_000)) },
		"short, and no text": func() { log.Info("it failed", "message", strings.Repeat("\xff", most)) },
		"no beginnings":      func() { log.Info("it failed", "message", strings.Repeat("\x80", 1_000_000)) },
		"an error, no error": func() { log.Error(nil, long) },
	} {
		t.Run(name, func(t *testing.T) {
			lines = nil
			write()
			if len(lines) != 1 {
				t.Fatalf("%d lines", len(lines))
			}
			if line := lines[0]; len(line) > most+200 || strings.Contains(line, "\\x1b") || strings.ContainsAny(line, "\x1b\n") || !strings.Contains(line, "bytes in all") {
				t.Errorf("%d bytes: %.200s", len(line), line)
			}
		})
	}
}

func TestWhatIsShortStaysAsItIs(t *testing.T) {
	cause := errors.New("not found")
	if got := failure(cause); !errors.Is(got, cause) {
		t.Errorf("the error has become another one: %v", got)
	}
	var none *saying
	for _, value := range []any{saying("short"), none, &corev1.Pod{}, types.NamespacedName{Name: "web"}} {
		if got := values([]any{value})[0]; got != value {
			t.Errorf("%#v has become %#v", value, got)
		}
	}
	if got := values([]any{"n", 3, "text", "short"}); fmt.Sprint(got) != "[n 3 text short]" {
		t.Errorf("the values have become %v", got)
	}
}
