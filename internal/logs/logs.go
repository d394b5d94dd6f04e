// Package logs bounds what is written into the log. Errors of a provider's API
// have a text that the provider has chosen, of up to megabytes, and the libraries
// that meet them write them down as they are.
package logs

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/internal/field/text"
)

// most is the longest text that is written, in bytes.
const most = 2048

// Bounded is a logger that cuts each text that is longer, and writes it on one
// line and without what cannot be printed.
func Bounded(to logr.Logger) logr.Logger {
	return to.WithSink(&sink{to.WithCallDepth(1).GetSink()}) // It is one more call.
}

// sink bounds what it hands on.
type sink struct{ logr.LogSink }

var _ logr.CallDepthLogSink = &sink{}

// Info implements logr.LogSink.
func (s *sink) Info(level int, message string, pairs ...any) {
	s.LogSink.Info(level, bounded(message), values(pairs)...)
}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, pairs ...any) {
	s.LogSink.Error(failure(err), bounded(message), values(pairs)...)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(pairs ...any) logr.LogSink {
	return &sink{s.LogSink.WithValues(values(pairs)...)}
}

// WithName implements logr.LogSink.
func (s *sink) WithName(name string) logr.LogSink { return &sink{s.LogSink.WithName(name)} }

// WithCallDepth implements logr.CallDepthLogSink.
func (s *sink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &sink{deep.WithCallDepth(depth)}
	}
	return s
}

// values bounds those that are text, or become text.
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
		case runtime.Object: // Of it only what it is and its name are written.
			clean[i] = value
		case fmt.Stringer:
			clean[i] = stringer(v)
		default:
			clean[i] = value
		}
	}
	return clean
}

// stringer is its text, if that is not as it is to be.
func stringer(v fmt.Stringer) any {
	if is := fmt.Sprint(v); bounded(is) != is { // A nil pointer does not panic so.
		return bounded(is)
	}
	return v
}

// failure is an error whose text is bounded.
func failure(err error) error {
	if err == nil {
		return nil
	}
	if is := err.Error(); bounded(is) != is {
		return errors.New(bounded(is))
	}
	return err
}

// bounded is cleaned before it is measured: what is no text may grow by that.
func bounded(s string) string {
	cleaned := text.Clean(cut(s))
	if len(s) <= most && len(cleaned) <= most {
		return cleaned
	}
	return fmt.Sprintf("%s… (%d bytes in all)", cut(cleaned), len(s))
}

// cut leaves the beginning of what is longer than most, up to the end of a character.
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
