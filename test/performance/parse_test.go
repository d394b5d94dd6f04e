package performance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBenchmarks(t *testing.T) {
	const output = `goos: linux
pkg: example.org/m/internal/decide/namespacemap
cpu: some
BenchmarkDecide/there=all/N=1000-2         	     319	    704537 ns/op	  527915 B/op	    1041 allocs/op
BenchmarkChanged/N=100-16 	 7594	 31.5 ns/op
BenchmarkChanged/N=100-16 	 7594	 30.5 ns/op
BenchmarkChanged/N=100-16 	 7594	 90.5 ns/op
PASS
ok  	example.org/m/internal/nsmap	2.4s
pkg: example.org/m/internal/decide/podsync
BenchmarkDecide/it_runs-2 	 18051 	 12500 ns/op 	 7408 B/op 	 29 allocs/op
`
	want := []PureResult{
		{"internal/decide/namespacemap", "Changed/N=100", 30.5, 0, 0},
		{"internal/decide/namespacemap", "Decide/there=all/N=1000", 704537, 527915, 1041},
		{"internal/decide/podsync", "Decide/it runs", 12500, 7408, 29},
	}
	got, err := parseBenchmarks("example.org/m", []byte(output))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if _, err := parseBenchmarks("m", []byte("BenchmarkX-2 1 some ns/op\n")); err == nil {
		t.Error("a value that is no number is no error")
	}
}

func TestCommandLine(t *testing.T) {
	if got, want := commandLine([]string{"go", "test", "-run", "^$", "-count", "5"}), "go test -run '^$' -count 5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
