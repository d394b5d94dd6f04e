package performance

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
)

// PureResult is the result of one Go benchmark.
type PureResult struct {
	// Package is without the module, Name without "Benchmark".
	Package, Name string
	// Nanoseconds, Bytes and Allocations of one call.
	Nanoseconds float64
	Bytes       int64
	Allocations int64
}

// PureReport is written as JSON, and copied into docs/benchmarks.md.
type PureReport struct {
	Date, Command string
	Machine       docs.Machine
	Results       []PureResult
}

// processors matches what go test appends to a name: the number of processors.
var processors = regexp.MustCompile(`-\d+$`)

// parseBenchmarks parses the output of go test -bench -benchmem. Of several runs of one benchmark the fastest
// counts: the machine makes the others slower. The results are sorted by name.
func parseBenchmarks(module string, output []byte) ([]PureResult, error) {
	var results []PureResult
	var pkg string
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		line := lines.Text()
		if after, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = strings.TrimPrefix(after, module+"/")
		}
		if !strings.HasPrefix(line, "Benchmark") || !strings.Contains(line, " ns/op") {
			continue
		}
		result, err := parseBenchmark(line)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", line, err)
		}
		result.Package = pkg
		results = withFastest(results, result)
	}
	slices.SortFunc(results, func(a, b PureResult) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Name, b.Name))
	})
	return results, nil
}

func withFastest(results []PureResult, result PureResult) []PureResult {
	for i := range results {
		if other := &results[i]; other.Package == result.Package && other.Name == result.Name {
			other.Nanoseconds = min(other.Nanoseconds, result.Nanoseconds)
			return results
		}
	}
	return append(results, result)
}

// parseBenchmark parses one line: the name, the number of calls, and pairs of value and unit.
func parseBenchmark(line string) (PureResult, error) {
	columns := strings.Fields(line)
	name := strings.TrimPrefix(processors.ReplaceAllString(columns[0], ""), "Benchmark")
	result := PureResult{Name: strings.ReplaceAll(name, "_", " ")}
	for i := 2; i+1 < len(columns); i += 2 {
		value, err := strconv.ParseFloat(columns[i], 64)
		if err != nil {
			return result, err
		}
		switch columns[i+1] {
		case "ns/op":
			result.Nanoseconds = value
		case "B/op":
			result.Bytes = int64(value)
		case "allocs/op":
			result.Allocations = int64(value)
		}
	}
	return result, nil
}

// Markdown returns the table for readers.
func (r PureReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n", r.Command, r.Date, r.Machine)
	b.WriteString("| package | benchmark | µs | bytes | allocations |\n|---|---|---:|---:|---:|\n")
	for _, result := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %.2f | %d | %d |\n", result.Package, result.Name, result.Nanoseconds/1e3, result.Bytes, result.Allocations)
	}
	return b.String()
}

// commandLine returns the command as one types it into a shell.
func commandLine(args []string) string {
	var words []string
	for _, arg := range args {
		if strings.ContainsAny(arg, "$ *") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
