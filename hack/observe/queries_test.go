package observe

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// fromScrape are labels that Prometheus adds to all series of a scrape.
var fromScrape = []string{"job", "instance", "namespace", "pod"}

// metric is a line of the list, such as spillway_pods{cluster,phase} gauge.
var metric = regexp.MustCompile(`(?m)^([a-z_]+)\{([a-z_,]*)\} ([a-z]+)$`)

// known returns the labels of each series that a manager reports, by name.
func known(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for _, match := range metric.FindAllStringSubmatch(string(text), -1) {
		labels := append(strings.Split(match[2], ","), fromScrape...)
		if match[3] == "histogram" {
			series[match[1]+"_bucket"] = append([]string{"le"}, labels...)
			series[match[1]+"_sum"], series[match[1]+"_count"] = labels, labels
			continue
		}
		series[match[1]] = labels
	}
	if len(series) == 0 {
		t.Fatal("the list of metrics is empty")
	}
	return series
}

// TestQueries: a manager reports each series and each label that dashboards and alerts use.
func TestQueries(t *testing.T) {
	series := known(t)
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("there are only %d queries", len(all))
	}
	for _, s := range all {
		for _, problem := range problems(s, series) {
			t.Errorf("%s: %s", s.place, problem)
		}
	}
}

// TestProblems: the check finds what it is to find.
func TestProblems(t *testing.T) {
	series := known(t)
	for name, test := range map[string]struct {
		expr, legend string
		want         []string
	}{
		"right":             {`sum by (cluster) (rate(spillway_stream_bytes_total{kind="exec"}[5m]))`, "{{cluster}}", nil},
		"no such metric":    {`spillway_pod{job="a"}`, "", []string{"there is no metric spillway_pod"}},
		"no such label":     {`spillway_pods{binding="a"}`, "", []string{"spillway_pods has no label binding"}},
		"grouping":          {`sum by (binding) (spillway_pods)`, "", []string{"its series have no label binding"}},
		"legend":            {`sum by (cluster) (spillway_pods)`, "{{phase}}", []string{"the aggregation drops the label phase"}},
		"legend, ungrouped": {`spillway_pods`, "{{binding}}", []string{"its series have no label binding"}},
		"no bucket":         {`histogram_quantile(0.9, sum by (le) (rate(spillway_pods_bucket[5m])))`, "", []string{"there is no metric spillway_pods_bucket"}},
		"no PromQL":         {`sum by`, "", []string{"1:7: parse error: unexpected end of input in grouping opts, expected \"(\""}},
	} {
		if got := problems(source{name, test.expr, named(test.legend)}, series); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// problems returns what is wrong with a query.
func problems(s source, series map[string][]string) []string {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(s.expr)
	if err != nil {
		return []string{err.Error()}
	}
	var found, labels []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		has, ok := series[selector.Name]
		if !ok {
			found = append(found, "there is no metric "+selector.Name)
			return nil
		}
		labels = append(labels, has...)
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != "__name__" && !slices.Contains(has, matcher.Name) {
				found = append(found, fmt.Sprintf("%s has no label %s", selector.Name, matcher.Name))
			}
		}
		return nil
	})
	if len(found) > 0 {
		return found
	}
	kept := s.labels
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		aggregate, ok := node.(*parser.AggregateExpr)
		if !ok {
			return nil
		}
		kept = append(slices.Clone(kept), aggregate.Grouping...)
		for _, label := range s.labels {
			// Only the outermost aggregation says which labels are left.
			if !within(path) && !aggregate.Without && !slices.Contains(aggregate.Grouping, label) {
				found = append(found, "the aggregation drops the label "+label)
			}
		}
		return nil
	})
	for _, label := range kept {
		if !slices.Contains(labels, label) && !slices.Contains(found, "its series have no label "+label) {
			found = append(found, "its series have no label "+label)
		}
	}
	return found
}

// within reports whether a node is in an aggregation.
func within(path []parser.Node) bool {
	return slices.ContainsFunc(path, func(node parser.Node) bool {
		_, ok := node.(*parser.AggregateExpr)
		return ok
	})
}

// TestAlertsAreTested: promtool's tests have each alert fire.
func TestAlertsAreTested(t *testing.T) {
	groups, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("testdata/rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(string(tests), "#"+strings.ToLower(rule.Alert)+"\n") {
				t.Errorf("nothing shows that %s fires", rule.Alert)
			}
		}
	}
}
