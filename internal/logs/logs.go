// Package logs bounds what is written into the log. A provider chooses the text of its errors, which may have
// megabytes, and libraries log it unchanged.
package logs

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/internal/field/text"
)

// most is the longest text that is logged, in bytes.
const most = 2048

// Bounded returns a logger that cuts long texts. It writes each text on one line, and drops unprintable
// characters.
func Bounded(to logr.Logger) logr.Logger {
	return to.WithSink(&sink{LogSink: to.WithCallDepth(1).GetSink()}) // The sink is one more call.
}

// sink bounds what it hands on. It hands on the pairs of WithValues with the first line, because every reconcile
// has such pairs, and hardly any writes a line.
type sink struct {
	logr.LogSink
	pairs []any
}

var _ logr.CallDepthLogSink = &sink{}

// Info implements logr.LogSink.
func (s *sink) Info(level int, message string, pairs ...any) {
	s.LogSink.Info(level, bounded(message), values(slices.Concat(s.pairs, pairs))...)
}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, pairs ...any) {
	s.LogSink.Error(failure(err), bounded(message), values(slices.Concat(s.pairs, pairs))...)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(pairs ...any) logr.LogSink {
	return &sink{s.LogSink, slices.Concat(s.pairs, pairs)}
}

// WithName implements logr.LogSink.
func (s *sink) WithName(name string) logr.LogSink { return &sink{s.LogSink.WithName(name), s.pairs} }

// WithCallDepth implements logr.CallDepthLogSink.
func (s *sink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &sink{deep.WithCallDepth(depth), s.pairs}
	}
	return s
}

// values bounds the values that are text, or become text.
func values(pairs []any) []any {
	clean := make([]any, len(pairs))
	for i, value := range pairs {
		switch v := value.(type) {
		case string:
			clean[i] = bounded(v)
		case error:
			clean[i] = failure(v)
		case []error:
			clean[i] = failure(errors.Join(v...))
		case []byte:
			clean[i] = bounded(string(v))
		case runtime.Object: // Only its kind and name are logged.
			clean[i] = value
		case fmt.Stringer:
			clean[i] = stringer(v)
		default:
			clean[i] = value
		}
	}
	return clean
}

// stringer returns the bounded text of a value, or the value itself if its text needs no change.
func stringer(v fmt.Stringer) any {
	if is := fmt.Sprint(v); bounded(is) != is { // Unlike v.String, this does not panic for a nil pointer.
		return bounded(is)
	}
	return v
}

// failure returns an error with a bounded text.
func failure(err error) error {
	if err == nil {
		return nil
	}
	if is := err.Error(); bounded(is) != is {
		return errors.New(bounded(is))
	}
	return err
}

// bounded cleans a text and cuts it. Cleaning may make it longer.
func bounded(s string) string {
	cleaned := text.Clean(cut(s))
	if len(s) <= most && len(cleaned) <= most {
		return cleaned
	}
	return fmt.Sprintf("%s… (%d bytes in all)", cut(cleaned), len(s))
}

// cut returns at most the first most bytes of a text, up to the end of a character.
func cut(s string) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
