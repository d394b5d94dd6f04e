package kubeletapi

import (
	"net/url"
	"strings"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	for path, test := range map[string]struct {
		method string
		node   string
		asked  bool
		says   string // Empty: the request is accepted.
	}{
		MetricsPath("spillway-eu"):              {"GET", "spillway-eu", true, ""},
		"/nodes/a.b-c/metrics/resource":         {"GET", "a.b-c", true, ""},
		"/metrics/resource":                     {"GET", "", true, "/nodes/NAME/metrics/resource"},
		"/nodes/spillway-us/metrics/resource":   {"POST", "", true, "method"},
		"/nodes//metrics/resource":              {"GET", "", true, "no valid name"},
		"/nodes/../metrics/resource":            {"GET", "", true, "no valid name"},
		"/nodes/a/b/metrics/resource":           {"GET", "", true, "no valid name"},
		"/nodes/a%2fb/metrics/resource":         {"GET", "", true, "no valid name"},
		"/nodes/%61%2f/metrics/resource":        {"GET", "", true, "no valid name"},
		"//elsewhere/nodes/eu/metrics/resource": {"GET", "", true, "no valid name"},
		"/nodes/eu/metrics/resource/":           {"GET", "", false, ""},
		"/nodes/eu/metrics":                     {"GET", "", false, ""},
		"/metrics/resource/":                    {"GET", "", false, ""},
		"/containerLogs/team/web/metrics":       {"GET", "", false, ""},
		"/x/nodes/eu/metrics/resource":          {"GET", "", false, ""},
	} {
		t.Run(path, func(t *testing.T) {
			u, err := url.Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			node, asked, refusal := ParseMetrics(test.method, u)
			if node != test.node || asked != test.asked || (refusal == nil) != (test.says == "") || refusal != nil && !strings.Contains(refusal.Message, test.says) {
				t.Errorf("got node %q, asked %t, refusal %v", node, asked, refusal)
			}
		})
	}
}
