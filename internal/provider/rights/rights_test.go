package rights

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/provider/gather"
)

func no(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
}

type answer struct {
	resource, verb string
	err            error
}

func TestNote(t *testing.T) {
	for name, test := range map[string]struct {
		answers       []answer
		lacks, string string // What configmaps lack, and all.
		told          int
	}{
		"all is allowed":                 {[]answer{{"configmaps", "list", nil}, {"configmaps", "watch", nil}}, "", "", 0},
		"what says nothing about rights": {[]answer{{"configmaps", "list", errors.New("broken")}}, "", "", 0},
		"one verb":                       {[]answer{{"configmaps", "watch", no("configmaps")}, {"configmaps", "list", nil}}, "watch", "watch configmaps", 1},
		"several, in any order": {[]answer{{"secrets", "watch", no("secrets")}, {"configmaps", "watch", no("configmaps")}, {"configmaps", "list", no("configmaps")}},
			"list and watch", "list and watch configmaps, watch secrets", 1},
		"again and again": {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "list", no("configmaps")}}, "list", "list configmaps", 1},
		"for a moment":    {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "list", nil}}, "", "", 0},
		"not known meanwhile": {[]answer{{"configmaps", "list", no("configmaps")}, {"configmaps", "list", errors.New("broken")}},
			"list", "list configmaps", 1},
	} {
		t.Run(name, func(t *testing.T) {
			now, told := clocktesting.NewFakeClock(time.Unix(0, 0)), 0
			r := New(now, func() { told++ })
			for _, a := range test.answers {
				r.Note(a.resource, a.verb, a.err)
			}
			if r.String() != "" {
				t.Errorf("it counts at once: %s", r)
			}
			now.Step(gather.Moment)
			if r.Lacks("configmaps") != test.lacks || r.String() != test.string || told != test.told {
				t.Errorf("it lacks %q, in all %q, told %d times", r.Lacks("configmaps"), r, told)
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
	if told != 2 || r.String() != "" {
		t.Errorf("told %d times of two changes; %q is missing", told, r)
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
	if r.Lacks("nodes") != "" || r.String() != "" {
		t.Error("what is not connected lacks rights")
	}
}
