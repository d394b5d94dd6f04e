package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

const (
	entryOf  = `{controllerName: spillway.io/eu, parentRef: `
	theirs   = `{controllerName: example.com/gateways, parentRef: `
	then     = `lastTransitionTime: "2026-01-02T03:04:05Z"`
	created  = `lastTransitionTime: "2025-01-01T00:00:00Z"`
	ahead    = `lastTransitionTime: "2026-03-01T00:10:00Z"`
	atRemote = `{group: gateway.networking.k8s.io, kind: Gateway, namespace: gateways, name: public}`
)

// condition returns a condition of a route, as YAML.
func condition(kind, status, reason, message string, generation int, at string) string {
	return fmt.Sprintf(`{type: %s, status: %q, reason: %q, message: %q, observedGeneration: %d, %s}`, kind, status, reason, message, generation, at)
}

// TestReportRoute: a local route of generation 3 has the parents public and infra/private, and one that
// is not mapped. Its copy has generation 7.
func TestReportRoute(t *testing.T) {
	yes := func(generation int, at string) string {
		return condition("Accepted", "True", "Accepted", "", generation, at)
	}
	public := func(conditions string) string { return entryOf + `{name: public}, conditions: [` + conditions + `]}` }
	there := func(conditions string) string { return theirs + atRemote + `, conditions: [` + conditions + `]}` }
	home := `{controllerName: example.com/home, parentRef: {name: home}, conditions: [` + yes(3, then) + `]}`
	us := strings.ReplaceAll(public(yes(3, then)), "/eu", "/us")
	for name, test := range map[string]struct {
		local, remote, want string // Entries of status.parents. want is "" if the local status stays.
		drifted             bool   // Whether the copy differs from what it should be.
		gone                bool   // Whether there should be no copy.
	}{
		"nothing is said":                 {},
		"it is accepted":                  {remote: there(yes(7, then)), want: public(yes(3, then))},
		"that is known":                   {local: public(yes(3, then)), remote: there(yes(7, then))},
		"that is known, in turn":          {local: public(yes(3, then)) + `, ` + home, remote: there(yes(7, then))},
		"it is said no more":              {local: home + `, ` + public(yes(3, then)), want: home},
		"the others stay":                 {local: home + `, ` + us, remote: there(yes(7, then)), want: home + `, ` + us + `, ` + public(yes(3, then))},
		"the copy is gone":                {local: home + `, ` + public(yes(3, then)) + `, ` + us, gone: true, want: home + `, ` + us},
		"the only one is gone":            {local: public(yes(3, then)), gone: true, want: " "},
		"nothing was said of it":          {local: home, gone: true},
		"the copy is older":               {local: public(yes(2, then)), remote: there(yes(7, then)), drifted: true},
		"the copy is older, and new here": {remote: there(yes(7, then)), drifted: true, want: public(yes(0, then))},
		"the controller is late":          {local: public(yes(2, then)), remote: there(condition("Accepted", "False", "Pending", "wait", 6, then)), want: public(condition("Accepted", "False", "Pending", "wait", 2, then))},
		"all that comes, in order": {
			remote: there(strings.Join([]string{condition("PartiallyInvalid", "True", "UnsupportedValue", "rule 2", 7, then), condition("ResolvedRefs", "False", "BackendNotFound", "no a", 7, then), yes(7, then),
				condition("example.com/Programmed", "True", "Yes", "", 7, then)}, ", ")),
			want: public(strings.Join([]string{yes(3, then), condition("ResolvedRefs", "False", "BackendNotFound", "no a", 3, then), condition("PartiallyInvalid", "True", "UnsupportedValue", "rule 2", 3, then)}, ", "))},
		"of two controllers": {
			remote: there(condition("example.com/Limited", "True", "Yes", "", 7, then)) + `, ` + there(yes(7, then)) + `, ` + there(condition("Accepted", "False", "No", "", 7, then)),
			want:   public(yes(3, then))},
		"with defaults": {remote: theirs + `{name: public, namespace: gateways}, conditions: [` + yes(7, then) + `]}`, want: public(yes(3, then))},
		"a part of another": {remote: theirs + `{name: private, namespace: gateways, sectionName: https, port: 443}, conditions: [` + yes(7, then) + `]}`,
			want: entryOf + `{namespace: infra, name: private, sectionName: https, port: 443}, conditions: [` + yes(3, then) + `]}`},
		"of other parents": {remote: strings.Join([]string{
			theirs + `{name: private, namespace: gateways, port: 443}, conditions: [` + yes(7, then) + `]}`,
			theirs + `{name: private, namespace: gateways, sectionName: https}, conditions: [` + yes(7, then) + `]}`,
			theirs + `{name: public}, conditions: [` + yes(7, then) + `]}`,
			theirs + `{name: home, namespace: gateways}, conditions: [` + yes(7, then) + `]}`,
			theirs + `{group: "", kind: Service, name: public, namespace: gateways}, conditions: [` + yes(7, then) + `]}`}, ", ")},

		// A provider may report anything.
		"no reason":                {remote: there(condition("Accepted", "True", "", "", 7, then)), want: public(condition("Accepted", "True", "Unreadable", "", 3, then))},
		"a bad reason":             {remote: there(condition("Accepted", "True", "<b>", "", 7, then)), want: public(condition("Accepted", "True", "Unreadable", "", 3, then))},
		"a long reason":            {remote: there(condition("Accepted", "True", strings.Repeat("a", 129), "", 7, then)), want: public(condition("Accepted", "True", "Unreadable", "", 3, then))},
		"a long message":           {remote: there(condition("Accepted", "True", "A", strings.Repeat("ä", 2000), 7, then)), want: public(condition("Accepted", "True", "A", strings.Repeat("ä", 1023)+"…", 3, then))},
		"odd characters":           {remote: there(condition("Accepted", "True", "A", "a\nb\x1b[1m", 7, then)), want: public(condition("Accepted", "True", "A", "a b [1m", 3, then))},
		"no status":                {remote: there(condition("Accepted", "Maybe", "A", "", 7, then))},
		"no time":                  {remote: there(condition("Accepted", "True", "A", "", 7, `lastTransitionTime: null`)), want: public(condition("Accepted", "True", "A", "", 3, created))},
		"a time before all others": {remote: there(condition("Accepted", "True", "A", "", 7, `lastTransitionTime: "0001-02-03T00:00:00Z"`)), want: public(condition("Accepted", "True", "A", "", 3, created))},
		"a clock that is ahead":    {remote: there(yes(7, ahead)), want: public(yes(3, strings.Replace(ahead, "10:", "00:", 1)))},
		"that is known before":     {local: public(yes(3, then)), remote: there(yes(7, ahead))},
		"our own name":             {remote: public(yes(7, then))},
	} {
		const spec = `parentRefs: [{name: home}, {name: public}, {namespace: infra, name: private, sectionName: https, port: 443}]`
		manifest := func(entries string) string {
			return `{metadata: {generation: 3, creationTimestamp: "2025-01-01T00:00:00Z"}, spec: {` + spec + `}, status: {parents: [` + entries + `]}}`
		}
		t.Run(name+"/HTTPRoute", func(t *testing.T) {
			checkReport(t, routeOf[gatewayv1.HTTPRoute](t, manifest(test.local)), routeOf[gatewayv1.HTTPRoute](t, manifest(test.want)),
				routeOf[gatewayv1.HTTPRoute](t, `{status: {parents: [`+test.remote+`]}}`).Status.Parents, HTTPToRemote, test.want != "", test.drifted, test.gone)
		})
		t.Run(name+"/GRPCRoute", func(t *testing.T) {
			checkReport(t, routeOf[gatewayv1.GRPCRoute](t, manifest(test.local)), routeOf[gatewayv1.GRPCRoute](t, manifest(test.want)),
				routeOf[gatewayv1.GRPCRoute](t, `{status: {parents: [`+test.remote+`]}}`).Status.Parents, GRPCToRemote, test.want != "", test.drifted, test.gone)
		})
	}
}

func checkReport[T Route](t *testing.T, local, want T, said []gatewayv1.RouteParentStatus, send func(T, field.Target, field.Gateways) (T, *field.Problem), changes, drifted, gone bool) {
	t.Helper()
	before := local.DeepCopyObject()
	desired, refusal := send(local, fieldtest.Mapped, gateways)
	if refusal != nil {
		t.Fatal(refusal)
	}
	remote := desired.DeepCopyObject().(T)
	remote.SetGeneration(7)
	partsOf(remote).Parents = said
	if drifted {
		*partsOf(remote).hostnames = []gatewayv1.Hostname{"other.example.com"}
	}
	if gone {
		remote = nil
	}
	got := ReportRoute(local, remote, "eu", gateways, fieldtest.Present)
	if (got != local) != changes {
		t.Errorf("it is written: %t", got != local)
	}
	if !changes {
		want = local
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if partsOf(got).Parents == nil {
		t.Error("no API server accepts a status without a list of parents")
	}
	if again := ReportRoute(got, remote, "eu", gateways, fieldtest.Present.Add(time.Hour)); again != got {
		t.Errorf("it is written once more: %s", cmp.Diff(got, again))
	}
	if diff := cmp.Diff(before, any(local)); diff != "" {
		t.Errorf("the local route was changed:\n%s", diff)
	}
}

// TestReportRouteOfAPart: the parents of a route are a Gateway and a section of it. Its copy has only
// the whole Gateway as a parent, and the report about that applies to both.
func TestReportRouteOfAPart(t *testing.T) {
	manifest := func(entries string) string {
		return `{metadata: {generation: 3, creationTimestamp: "2025-01-01T00:00:00Z"}, spec: {parentRefs: [{name: public, sectionName: https}, {name: public}]}, status: {parents: [` + entries + `]}}`
	}
	accepted := func(generation int) string {
		return `, conditions: [` + condition("Accepted", "True", "Accepted", "", generation, then) + `]}`
	}
	want := routeOf[gatewayv1.HTTPRoute](t, manifest(entryOf+`{name: public, sectionName: https}`+accepted(3)+`, `+entryOf+`{name: public}`+accepted(3)))
	said := routeOf[gatewayv1.HTTPRoute](t, `{status: {parents: [`+theirs+atRemote+accepted(7)+`]}}`).Status.Parents
	checkReport(t, routeOf[gatewayv1.HTTPRoute](t, manifest("")), want, said, HTTPToRemote, true, false, false)
}

// TestReportRouteIsBounded: a status may have 32 entries. A provider gets at most 16 of them, and
// replaces none of others.
func TestReportRouteIsBounded(t *testing.T) {
	for _, test := range []struct{ others, want int }{{0, 16}, {16, 16}, {20, 12}, {32, 0}} {
		local := routeOf[gatewayv1.HTTPRoute](t, `{}`)
		for i := range 32 {
			local.Spec.ParentRefs = append(local.Spec.ParentRefs, gatewayv1.ParentReference{Name: gatewayv1.ObjectName(fmt.Sprint("g", i))})
		}
		for range test.others {
			local.Status.Parents = append(local.Status.Parents, gatewayv1.RouteParentStatus{ControllerName: "example.com/home"})
		}
		remote, refusal := HTTPToRemote(local, fieldtest.Mapped, all)
		if refusal != nil {
			t.Fatal(refusal)
		}
		for i := range remote.Spec.ParentRefs {
			remote.Status.Parents = append(remote.Status.Parents, gatewayv1.RouteParentStatus{ParentRef: remote.Spec.ParentRefs[i], Conditions: []metav1.Condition{
				{Type: "Accepted", Status: "True", Reason: "Accepted", LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))},
			}})
		}
		got := ReportRoute(local, remote, "eu", all, fieldtest.Present)
		if len(got.Status.Parents) != test.others+test.want {
			t.Errorf("beside %d others: %d, want %d", test.others, len(got.Status.Parents)-test.others, test.want)
		}
	}
}

// TestRouteReporters: the names of controllers tell the reporters.
func TestRouteReporters(t *testing.T) {
	route := routeOf[gatewayv1.GRPCRoute](t, `{status: {parents: [{controllerName: spillway.io/us}, {controllerName: example.com/x}, {controllerName: spillway.io/eu}, {controllerName: spillway.io/us}]}}`)
	if got := strings.Join(RouteReporters(route), ","); got != "eu,us" {
		t.Errorf("got %s", got)
	}
	if got := RouteReporters("no route"); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	if left := ReportRoute(ReportRoute(route, nil, "us", nil, fieldtest.Present), nil, "eu", nil, fieldtest.Present); len(left.Status.Parents) != 1 {
		t.Errorf("left %v", left.Status.Parents)
	}
}
