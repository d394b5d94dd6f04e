package logs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

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
		"an error, no error": func() { log.Error(nil, long) },
	} {
		t.Run(name, func(t *testing.T) {
			lines = nil
			write()
			if len(lines) != 1 {
				t.Fatalf("%d lines", len(lines))
			}
			if line := lines[0]; len(line) > 2*most || strings.Contains(line, "\\x1b") || strings.ContainsAny(line, "\x1b\n") || !strings.Contains(line, "bytes more") {
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
	if got := values([]any{"n", 3, "text", "short"}); fmt.Sprint(got) != "[n 3 text short]" {
		t.Errorf("the values have become %v", got)
	}
}
