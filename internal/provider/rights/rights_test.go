package rights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/gather"
)

func no(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
}

// unknown is the answer of an API server to a path that it does not know.
var unknown = apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "404 page not found", 0, true)

// odd are objects that another definition of the kind takes, and the Go type does not.
var odd = []error{
	json.Unmarshal([]byte(`{"spec":{"rules":[{"filters":[{"externalAuth":{"forwardBody":{"maxSize":1048576}}}]}]}}`), &gatewayv1.HTTPRoute{}),
	json.Unmarshal([]byte(`{"status":{"parents":[{"conditions":[{"lastTransitionTime":"2026-01-01t00:00:00z"}]}]}}`), &gatewayv1.HTTPRoute{}),
}

// needed ends what is said of kinds that are not served.
const needed = " in the required version"

func textOf(lack connection.Unreadable) string {
	if lack == (connection.Unreadable{}) {
		return ""
	}
	return lack.Reason + ": " + lack.What
}

type answer struct {
	resource, verb string
	err            error
}

func TestNote(t *testing.T) {
	const right, served = "RightsMissing: does not let Spillway ", "KindNotServed: does not serve "
	for name, test := range map[string]struct {
		answers    []answer
		lacks, all string // What configmaps lack, and all.
		told       int
	}{
		"all is allowed":                 {[]answer{{"configmaps", "list", nil}, {"configmaps", "watch", nil}}, "", "", 0},
		"what says nothing about rights": {[]answer{{"configmaps", "list", errors.New("broken")}}, "", "", 0},
		"one verb":                       {[]answer{{"configmaps", "watch", no("configmaps")}, {"configmaps", "list", nil}}, right + "watch configmaps", right + "watch configmaps", 1},
		"several, in any order": {[]answer{{"secrets", "watch", no("secrets")}, {"configmaps", "watch", no("configmaps")}, {"configmaps", "list", no("configmaps")}},
			right + "list and watch configmaps", right + "list and watch configmaps, watch secrets", 1},
		"again and again": {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "list", no("configmaps")}}, right + "list configmaps", right + "list configmaps", 1},
		"for a moment":    {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "list", nil}}, "", "", 0},
		"not known meanwhile": {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "list", errors.New("broken")}},
			right + "list configmaps", right + "list configmaps", 1},
		"one that is not served":          {[]answer{{"configmaps", "list", unknown}, {"configmaps", "watch", unknown}}, served + "configmaps" + needed, served + "configmaps" + needed, 1},
		"one whose objects do not decode": {[]answer{{"configmaps", "list", fmt.Errorf("failed to list: %w", odd[0])}}, served + "configmaps" + needed, served + "configmaps" + needed, 1},
		"one whose times do not":          {[]answer{{"configmaps", "list", odd[1]}}, served + "configmaps" + needed, served + "configmaps" + needed, 1},
		"several that are not": {[]answer{{"secrets", "list", unknown}, {"configmaps", "list", unknown}},
			served + "configmaps" + needed, served + "configmaps, secrets" + needed, 1},
		"one that is not, and a right": {[]answer{{"secrets", "list", no("secrets")}, {"configmaps", "list", unknown}},
			served + "configmaps" + needed, right + "list secrets, and does not serve configmaps" + needed, 1},
		"not served, and then no right":     {[]answer{{"configmaps", "list", unknown}, {"configmaps", "list", no("configmaps")}}, right + "list configmaps", right + "list configmaps", 1},
		"a right to what is not served":     {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "watch", no("configmaps")}, {"configmaps", "list", unknown}}, served + "configmaps" + needed, served + "configmaps" + needed, 1},
		"not served for a moment":           {[]answer{{"configmaps", "list", unknown}, {"configmaps", "list", nil}}, "", "", 0},
		"not served, and broken afterwards": {[]answer{{"configmaps", "list", unknown}, {"configmaps", "list", errors.New("broken")}}, served + "configmaps" + needed, served + "configmaps" + needed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			now, told := clocktesting.NewFakeClock(time.Unix(0, 0)), 0
			r := New(now, func() { told++ })
			for _, a := range test.answers {
				r.Note(a.resource, a.verb, a.err)
			}
			if all := textOf(r.All()); all != "" {
				t.Errorf("it counts at once: %s", all)
			}
			now.Step(gather.Moment)
			if lacks, all := textOf(r.WhyUnreadable("configmaps")), textOf(r.All()); lacks != test.lacks || all != test.all || told != test.told {
				t.Errorf("it lacks %q, in all %q, told %d times", lacks, all, told)
			}
		})
	}
}

func TestFollow(t *testing.T) {
	r, told := New(clocktesting.NewFakeClock(time.Unix(0, 0)), nil), 0
	ctx, cancel := context.WithCancel(t.Context())
	r.Follow(ctx, func() { told++ })
	r.Settle()
	r.Note("nodes", "list", no("nodes"))
	r.Settle()
	r.Settle()
	if told != 1 {
		t.Errorf("told %d times of one change", told)
	}
	r.Note("nodes", "list", nil)
	r.Settle()
	if all := textOf(r.All()); told != 2 || all != "" {
		t.Errorf("told %d times of two changes; %q is missing", told, all)
	}
	cancel()
	for followed := true; followed; { // The end of a context is handled in another goroutine.
		r.mu.Lock()
		followed = len(r.followers) > 0
		r.mu.Unlock()
		runtime.Gosched()
	}
	r.Note("nodes", "list", no("nodes"))
	r.Settle()
	if told != 2 {
		t.Error("told after its end")
	}
}

func TestNobodyLacksAnything(t *testing.T) {
	var r *Rights
	r.Note("nodes", "list", no("nodes"))
	r.Follow(t.Context(), func() {})
	if textOf(r.WhyUnreadable("nodes")) != "" || textOf(r.All()) != "" {
		t.Error("what is not connected lacks rights")
	}
}
