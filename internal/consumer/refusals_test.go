package consumer

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// answer is one answer of the consumer.
type answer struct {
	method, path string
	code         int
	body         string
}

// given sends requests through a wrapped transport, which gets these answers.
func given(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper, answers ...answer) {
	t.Helper()
	for _, a := range answers {
		transport := wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: a.code, Body: io.NopCloser(strings.NewReader(a.body))}, nil
		}))
		req, err := http.NewRequestWithContext(t.Context(), a.method, "https://consumer"+a.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != a.body {
			t.Errorf("the client reads %q, %v", body, err)
		}
		_ = resp.Body.Close()
	}
}

func TestRefusals(t *testing.T) {
	const (
		maps    = "/apis/offloading.spillway.io/v1alpha1/namespacemaps"
		lease   = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/spillway-"
		pods    = "/api/v1/namespaces/team/pods/"
		denied  = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"ValidatingAdmissionPolicy 'p' denied request"}`
		going   = `{"kind":"Status","apiVersion":"v1","code":403,"message":"it goes","details":{"causes":[{"reason":"NamespaceTerminating"}]}}`
		saysMap = "to create namespacemaps.offloading.spillway.io as somebody: ValidatingAdmissionPolicy 'p' denied request"
	)
	refused := func(method, path string) answer { return answer{method, path, 403, denied} }
	for name, test := range map[string]struct {
		answers []answer
		after   time.Duration
		want    string
	}{
		"nothing":                       {nil, 0, ""},
		"a kind, by a policy":           {[]answer{refused("POST", maps)}, 0, saysMap},
		"by a policy that says no more": {[]answer{{"POST", maps, 422, denied}}, 0, saysMap},
		"an object that is wrong":       {[]answer{{"POST", maps, 422, "no"}}, 0, ""},
		"a subresource":                 {[]answer{refused("PATCH", pods+"a/status")}, 0, "to patch pods/status as somebody: ValidatingAdmissionPolicy 'p' denied request"},
		"by something else, as text":    {[]answer{{"DELETE", "/api/v1/nodes/n", 403, "no"}}, 0, "to delete nodes as somebody: no"},
		"a Namespace":                   {[]answer{{"PATCH", "/api/v1/namespaces/n/finalize", 403, "no"}}, 0, "to patch namespaces/finalize as somebody: no"},
		"reading":                       {[]answer{refused("GET", maps)}, 0, ""},
		"an event":                      {[]answer{refused("POST", "/apis/events.k8s.io/v1/namespaces/team/events")}, 0, ""},
		"another error":                 {[]answer{{"POST", maps, 409, denied}, {"POST", maps, 500, denied}}, 0, ""},
		"the namespace is going":        {[]answer{{"POST", pods, 403, going}}, 0, ""},
		"and carried out":               {[]answer{refused("POST", maps), {"POST", maps, 201, "{}"}}, 0, ""},
		"and its object is gone":        {[]answer{refused("PATCH", maps+"/eu"), {"PATCH", maps + "/eu", 404, "{}"}}, 0, ""},
		"and its object is deleted":     {[]answer{refused("PATCH", pods+"a/status"), refused("PATCH", pods+"a"), {"DELETE", pods + "a", 200, "{}"}}, 0, ""},
		"another object is deleted":     {[]answer{refused("PATCH", pods+"ab/status"), {"DELETE", pods + "a", 200, "{}"}}, 0, "to patch pods/status as somebody: ValidatingAdmissionPolicy 'p' denied request"},
		"another object is carried out": {[]answer{refused("PATCH", pods+"a"), {"PATCH", pods + "b", 200, "{}"}}, 0, "to patch pods as somebody: ValidatingAdmissionPolicy 'p' denied request"},
		"and not tried again":           {[]answer{refused("POST", maps)}, refusedFor, ""},
		"another binding's node":        {[]answer{refused("PATCH", "/api/v1/nodes/spillway-us/status"), refused("PUT", lease+"us")}, 0, ""},
		"a node's Lease":                {[]answer{refused("PUT", lease+"us"), {"PUT", lease + "eu", 403, "no"}}, 0, "to update leases.coordination.k8s.io as somebody: no"},
		"two, in order":                 {[]answer{{"DELETE", pods + "a", 403, "no"}, refused("POST", maps)}, 0, saysMap + "; to delete pods as somebody: no"},
		"the Leases of many nodes hide no other write": {
			[]answer{{"PUT", lease + "c", 403, "z"}, {"PUT", lease + "a", 403, "x"}, {"PUT", lease + "b", 403, "y"}, {"PATCH", pods + "a", 403, "no"}},
			0, "to patch pods as somebody: no; to update leases.coordination.k8s.io as somebody: x",
		},
		"more kinds of writes than are said": {
			[]answer{{"DELETE", pods + "a", 403, "no"}, {"PATCH", pods + "a", 403, "no"}, {"POST", pods, 403, "no"}, {"PUT", pods + "a", 403, "no"}, {"PUT", lease + "a", 403, "x"}},
			0, "to create pods as somebody: no; to delete pods as somebody: no; to patch pods as somebody: no; and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Now())
			r := NewRefusals(func() string { return "somebody" }, clock)
			given(t, r.Wrap, test.answers...)
			told := len(r.Events()) > 0
			clock.SetTime(clock.Now().Add(test.after))
			got, again := r.Message(func(_, node string) bool { return node != "spillway-us" })
			if got != test.want || (again > 0) != (got != "") {
				t.Errorf("got %q, again after %s, want %q", got, again, test.want)
			}
			if got != "" && !told {
				t.Error("nobody is told")
			}
		})
	}
}
