package performance

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/requests"
)

// figuresOf sums up the manager's requests in the audit logs, one of each cluster.
func figuresOf(audits []*measure.Audit) (requests.Figures, error) {
	all := requests.Figures{Counts: map[requests.Key]requests.Count{}, Writes: map[requests.Object]int{}}
	for _, audit := range audits {
		figures, err := audit.Figures()
		if err != nil {
			return all, err
		}
		maps.Copy(all.Counts, figures.Counts)
		maps.Copy(all.Writes, figures.Writes)
	}
	return all, nil
}

// differences compares what the transports counted with what the API servers logged. Watches and periodic
// requests are left out.
func differences(own, audited requests.Figures) []string {
	counts := map[requests.Key][2]int{}
	for _, row := range own.Rows(requests.Finite) {
		counts[row.Key] = [2]int{row.Requests, counts[row.Key][1]}
	}
	for _, row := range audited.Rows(requests.Finite) {
		counts[row.Key] = [2]int{counts[row.Key][0], row.Requests}
	}
	var differ []string
	for _, key := range slices.SortedFunc(maps.Keys(counts), func(a, b requests.Key) int { return len(a.Resource) - len(b.Resource) }) {
		if count := counts[key]; count[0] != count[1] {
			differ = append(differ, fmt.Sprintf("%s in %s: %d by the transports, %d by the audit log", what(key), key.Cluster, count[0], count[1]))
		}
	}
	return differ
}

// requestsOf returns a row for each kind of request: how often it came, in all and for each of n.
func requestsOf(f requests.Figures, n int) string {
	rows := [][]string{{"cluster", "request", "times", "each"}}
	for _, row := range f.Rows(requests.Finite) {
		rows = append(rows, []string{row.Cluster, what(row.Key), fmt.Sprint(row.Requests), fmt.Sprintf("%.3f", float64(row.Requests)/float64(n))})
	}
	return grid(rows)
}

func what(k requests.Key) string {
	if k.Subresource != "" {
		return k.Verb + " " + k.Resource + "/" + k.Subresource
	}
	return k.Verb + " " + k.Resource
}
