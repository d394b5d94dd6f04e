package integration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// mostSlow is how many of the slowest specs are listed.
const mostSlow = 10

var _ = ReportAfterSuite("which specs were flaky, and which took longest", func(report Report) {
	// The reporter may be in the middle of a line of dots.
	fmt.Print("\n" + strings.Join(append(flaky(report.SpecReports), slowest(report.SpecReports)...), "\n") + "\n")
})

// flaky lists the specs that passed only at a later attempt.
func flaky(specs types.SpecReports) []string {
	var lines []string
	for i := range specs {
		if specs[i].NumAttempts > 1 && specs[i].State == types.SpecStatePassed {
			lines = append(lines, "FLAKY: "+specs[i].FullText())
		}
	}
	return lines
}

// slowest lists the slowest specs, and the suite's setup and cleanup if they are among them.
func slowest(specs types.SpecReports) []string {
	specs = slices.Clone(specs)
	slices.SortStableFunc(specs, func(a, b types.SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	lines := []string{"The slowest specs, in seconds:"}
	for _, spec := range specs[:min(len(specs), mostSlow)] {
		name := spec.FullText()
		if name == "" {
			name = spec.LeafNodeType.String()
		}
		lines = append(lines, fmt.Sprintf("%7.1f %s", spec.RunTime.Seconds(), name))
	}
	return lines
}
