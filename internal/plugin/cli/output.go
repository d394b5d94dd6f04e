package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// ErrTime is the cause when a command gives up.
var ErrTime = errors.New("--timeout has passed")

// Step is what a command has done, or would do.
type Step struct {
	// Cluster is consumer or provider.
	Cluster string `json:"cluster"`
	// Object is the kind and the name, as kubectl prints them.
	Object string `json:"object"`
	// Namespace is the namespace of the object, if it has one.
	Namespace string `json:"namespace,omitempty"`
	// Action is created, configured, unchanged, deleted, evicted, cordoned, uncordoned, gone, kept, skipped or ready.
	Action string `json:"action"`
	// Message says why, if that is not obvious.
	Message string `json:"message,omitempty"`
}

// Summary is what a command prints with -o.
type Summary struct {
	Command  string   `json:"command"`
	DryRun   bool     `json:"dryRun,omitempty"`
	Steps    []Step   `json:"steps"`
	Warnings []string `json:"warnings,omitempty"`
	// Error says why the command failed.
	Error string `json:"error,omitempty"`
}

// Output prints the steps of a command, one per line, and what it waits for. On a terminal, a wait has one
// line that changes; otherwise each change has a line.
type Output struct {
	summary  Summary
	format   string
	out, err io.Writer
	terminal bool
	begun    time.Time
	waiting  []string
	pending  bool // The line of a wait has no end yet.
	// alike has steps that are not printed yet. If there are many, only their number is printed.
	alike []Step
}

// NewOutput returns the Output of one run of a command.
func NewOutput(f *Factory, command, format string, dryRun bool) (*Output, error) {
	if err := CheckFormat(format); err != nil {
		return nil, err
	}
	out := f.Out
	if format != "" {
		out = f.ErrOut
	}
	return &Output{
		summary: Summary{Command: command, DryRun: dryRun, Steps: []Step{}}, format: format, out: out, err: f.ErrOut,
		terminal: isTerminal(out), begun: time.Now(),
	}, nil
}

// Did records and prints a step. In a dry run, several parts of a command may report the same step.
func (o *Output) Did(step Step) {
	if o.summary.DryRun && slices.Contains(o.summary.Steps, step) {
		return
	}
	o.summary.Steps = append(o.summary.Steps, step)
	if !o.counts(step) {
		o.print(step)
		return
	}
	if len(o.alike) > 0 && (o.alike[0].Cluster != step.Cluster || o.alike[0].Action != step.Action) {
		o.flush()
	}
	o.alike = append(o.alike, step)
}

// counts reports whether only the number is printed if there are many such steps in a row. A dry run names
// everything that it would change.
func (o *Output) counts(step Step) bool {
	switch step.Action {
	case "unchanged":
		return step.Message == ""
	case "created", "deleted", "evicted":
		return step.Message == "" && !o.summary.DryRun
	default:
		return false
	}
}

// flush prints the steps in alike.
func (o *Output) flush() {
	const few = 2
	steps := o.alike
	o.alike = nil
	if len(steps) > few {
		o.line(o.out, fmt.Sprintf("%s: %d objects %s", steps[0].Cluster, len(steps), steps[0].Action))
		return
	}
	for _, step := range steps {
		o.print(step)
	}
}

func (o *Output) print(step Step) {
	text := step.Object + " " + step.Action
	if step.Namespace != "" {
		text = step.Object + " in namespace " + step.Namespace + " " + step.Action
	}
	if o.summary.DryRun {
		text += " (dry run)"
	}
	if step.Message != "" {
		text += ": " + step.Message
	}
	o.line(o.out, step.Cluster+": "+text)
}

// Warn prints a warning, and adds it to the summary.
func (o *Output) Warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	o.summary.Warnings = append(o.summary.Warnings, text)
	o.line(o.err, "warning: "+text)
}

// Say prints a line that is not in the summary.
func (o *Output) Say(format string, args ...any) { o.line(o.out, fmt.Sprintf(format, args...)) }

// Waiting says what the command waits for. It prints nothing while that does not change. On a terminal, the
// next line replaces a short text. A long text stays, because its end has the cause. Of several lines, it prints those that
// are new.
func (o *Output) Waiting(what ...string) {
	const width = 100
	said := o.waiting
	o.waiting = what
	for _, one := range what {
		text := "waiting: " + one
		stays := !o.terminal || len(what) > 1 || len(text) > width || strings.Contains(text, "\n")
		if stays && slices.Contains(said, one) {
			continue
		}
		o.flush()
		if stays {
			o.line(o.out, text)
			continue
		}
		eraseLine(o.out)
		_, _ = fmt.Fprintf(o.out, "%s (%.0fs)", text, time.Since(o.begun).Seconds())
		o.pending = true
	}
}

// GaveUp returns the error of a wait that has failed. It says why the wait ended and what that means, and
// then what it waited for, which may be long.
func GaveUp(err error, what, waits string) error {
	if waits == "" {
		return fmt.Errorf("%w: %s", err, what)
	}
	return fmt.Errorf("%w: %s. Last status: %s", err, what, waits)
}

// GaveUp returns the error of a wait that has failed. What it waited for is in the error only if the lines above it may be
// elsewhere.
func (o *Output) GaveUp(err error, what string) error {
	if o.format == "" {
		return GaveUp(err, what, "")
	}
	return GaveUp(err, what, o.Last())
}

// Last returns what was last waited for.
func (o *Output) Last() string { return strings.Join(o.waiting, "; ") }

func (o *Output) line(to io.Writer, text string) {
	if len(o.alike) > 0 {
		o.flush()
	}
	if o.pending {
		eraseLine(o.out)
		o.pending = false
	}
	_, _ = fmt.Fprintln(to, text)
}

// End prints the summary if -o asks for one, and returns the error of the command.
func (o *Output) End(f *Factory, err error) error {
	o.flush()
	if o.pending {
		_, _ = fmt.Fprintln(o.out)
		o.pending = false
	}
	if o.format == "" {
		return err
	}
	if err != nil {
		o.summary.Error = err.Error()
	}
	return errors.Join(err, Print(f.Out, o.format, o.summary))
}

// Print writes a value as JSON or YAML.
func Print(to io.Writer, format string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err == nil && format == "yaml" {
		content, err = yaml.JSONToYAML(content)
	}
	if err == nil {
		_, err = fmt.Fprintln(to, strings.TrimSuffix(string(content), "\n"))
	}
	return err
}
