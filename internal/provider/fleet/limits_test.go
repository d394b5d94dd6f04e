package fleet

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// TestLimitsThatCannotBeRead: such a provider blocks no connection, and allows nothing.
func TestLimitsThatCannotBeRead(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, test := range map[string]struct {
		err  error
		want string // Empty: not known yet.
	}{
		"no right":                 {apierrors.NewForbidden(configMaps, v1alpha1.LimitsName, nil), v1alpha1.ReasonLimitsForbidden},
		"an authorizer before":     {apierrors.NewInternalError(errors.New("the authorizer does not answer")), v1alpha1.ReasonLimitsForbidden},
		"it is asked too much":     {apierrors.NewTooManyRequestsError("later"), ""},
		"nothing has happened yet": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Limits{known: make(chan struct{})}
			reader := &limitsReader{limits: l, news: make(chan struct{}, 1)}
			if test.err != nil {
				reader.fail(test.err)
			}
			l.set(reader.current())
			var got string
			l.Follow(func(limits *field.Limits) { got = limits.Unknown.Reason })
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			select {
			case <-l.known:
				if test.want == "" {
					t.Error("they count as known")
				}
			default:
				if test.want != "" {
					t.Error("who connects waits for them")
				}
			}
		})
	}
}

// TestFollowersOfLimits get the limits and their changes, and nothing twice.
func TestFollowersOfLimits(t *testing.T) {
	l := &Limits{known: make(chan struct{})}
	var told []int
	count := func(limits *field.Limits) { told = append(told, len(limits.TolerationKeys)) }
	of := func(keys string) *field.Limits {
		return field.LimitsOf(map[string]string{"tolerationKeys": keys})
	}
	l.Follow(count)
	for _, keys := range []string{"a,b", "b, a", "a,b", "a,b", ""} {
		l.set(of(keys))
	}
	l.set(nil)
	l.Follow(count)
	if diff := cmp.Diff([]int{2, 2, 2, 0, 0}, told); diff != "" {
		t.Error(diff)
	}
}
