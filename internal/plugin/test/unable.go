package test

import (
	"context"
	"slices"
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/bind"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

// unable says why no step can work; "" if they can. Everything else shows in the steps.
func unable(binding *v1alpha1.ClusterBinding, findings []doctor.Finding) string {
	if ready, waits := bind.Progress(binding); !ready {
		return "the binding is not Ready: " + waits
	}
	for _, f := range findings {
		if f.Level == doctor.Error && (f.Check == "manager" || f.Check == "installed" || f.Check == "binding") {
			return "doctor has found that " + f.Check + " does not work"
		}
		if right := lacks(f); right != "" && f.Object == binding.Name {
			return "doctor has found that the consumer's account in the provider may not " + right
		}
	}
	return ""
}

// lacks returns a right without which every step would only wait; "" if the finding names none.
func lacks(f doctor.Finding) string {
	if f.Level != doctor.Error || f.Check != "rights" {
		return ""
	}
	for _, right := range f.Missing {
		if right == "create namespaces" || right == "create pods" {
			return right
		}
	}
	return ""
}

// examineAgain runs doctor's checks once more after a failure, while the pod is there, and reports what is new.
func (t *tester) examineAgain(ctx context.Context, before []doctor.Finding) {
	if ctx.Err() != nil || !slices.ContainsFunc(t.report.Steps, func(s Step) bool { return s.Result == Failed && isOurs(s.Name) }) {
		return
	}
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, min(t.timeout, examination))
	defer cancel()
	findings, err := doctor.Examine(limited, t.consumer)
	if err != nil {
		return // The failed step has its own cause.
	}
	for _, s := range ofFindings(news(doctor.About(findings, t.binding), before), time.Since(begun)) {
		t.add(s)
	}
}

// isOurs reports whether a step is one of the test, and not a check of doctor.
func isOurs(name string) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.name == name })
}

// news returns the findings that were not there before, and are not OK.
func news(findings, before []doctor.Finding) []doctor.Finding {
	return slices.DeleteFunc(findings, func(f doctor.Finding) bool {
		return f.Level == doctor.OK || slices.ContainsFunc(before, func(b doctor.Finding) bool { return b.Check == f.Check && b.Object == f.Object && b.Level == f.Level })
	})
}
