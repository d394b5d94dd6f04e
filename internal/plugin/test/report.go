package test

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

// Result is how a step ended.
type Result string

// The results of steps.
const (
	Passed  Result = "passed"
	Failed  Result = "failed"
	Warned  Result = "warned"
	Skipped Result = "skipped"
)

var marks = map[Result]string{Passed: "✓", Failed: "✗", Warned: "!", Skipped: "–"}

// Step is one step of the test of a provider.
type Step struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Message says what was seen, or why the step was skipped.
	Message string `json:"message,omitempty"`
	// Cause says why it failed, and Mend what to do about it.
	Cause string `json:"cause,omitempty"`
	Mend  string `json:"mend,omitempty"`
}

// Report has the steps of one provider, in order.
type Report struct {
	Provider string `json:"provider"`
	Steps    []Step `json:"steps"`
}

// result returns the result of a step; "" if it has not run.
func (r Report) result(name string) Result {
	at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Name == name })
	if at < 0 {
		return ""
	}
	return r.Steps[at].Result
}

// text returns the lines of a step.
func (s Step) text(provider string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", marks[s.Result], provider, s.Name)
	if s.Result != Skipped {
		fmt.Fprintf(&b, " (%.1fs)", s.Seconds)
	}
	if s.Message != "" {
		b.WriteString(": " + s.Message)
	}
	b.WriteString("\n")
	if s.Cause != "" {
		b.WriteString("    cause: " + s.Cause + "\n")
	}
	if s.Mend != "" {
		b.WriteString("    fix: " + s.Mend + "\n")
	}
	return b.String()
}

// ofFindings returns a step for each finding of doctor that is not OK, and one for all others.
func ofFindings(findings []doctor.Finding, took time.Duration) []Step {
	var steps []Step
	fine := 0
	for _, f := range findings {
		if f.Level == doctor.OK {
			fine++
			continue
		}
		result := Warned
		if f.Level == doctor.Error {
			result = Failed
		}
		steps = append(steps, Step{Name: "doctor, " + strings.TrimSpace(f.Check+" "+f.Object), Result: result, Seconds: took.Seconds(), Message: f.Message, Mend: f.Mend})
	}
	if fine > 0 {
		steps = append([]Step{{Name: "doctor", Result: Passed, Seconds: took.Seconds(), Message: doctor.Passed(fine)}}, steps...)
	}
	return steps
}

// verdict returns an error that names the providers in which a step failed.
func verdict(reports []Report) error {
	var failed []string
	for _, report := range reports {
		var steps []string
		for _, step := range report.Steps {
			if step.Result == Failed {
				steps = append(steps, step.Name)
			}
		}
		if len(steps) > 0 {
			failed = append(failed, report.Provider+" ("+strings.Join(steps, "; ")+")")
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d providers failed: %s", len(failed), len(reports), strings.Join(failed, ", "))
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     string     `xml:"time,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *message `xml:"failure"`
	Skipped *message `xml:"skipped"`
	Out     string   `xml:"system-out,omitempty"`
}

type message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit returns the reports in the format that CI systems read. A warning is a success with output.
func junit(reports []Report) ([]byte, error) {
	var all suites
	for _, report := range reports {
		s, took := suite{Name: "spillway " + report.Provider, Tests: len(report.Steps)}, 0.0
		for _, step := range report.Steps {
			took += step.Seconds
			c := testcase{Class: s.Name, Name: step.Name, Time: fmt.Sprintf("%.3f", step.Seconds)}
			switch step.Result {
			case Failed:
				s.Failures++
				c.Failure = &message{step.Message, step.text(report.Provider)}
			case Skipped:
				s.Skipped++
				c.Skipped = &message{Message: step.Message}
			case Passed, Warned:
				c.Out = step.text(report.Provider)
			}
			s.Cases = append(s.Cases, c)
		}
		s.Time = fmt.Sprintf("%.3f", took)
		all.Suites = append(all.Suites, s)
	}
	content, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(content, '\n')...), err
}
