package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// The requests in the life of a pod called web.
const (
	create       = "p1: create pods web"
	reportStatus = "consumer: patch pods/status web"
	deleteThere  = "p1: delete pods web"
	// deleteHere lets the local pod go, which waits for the remote pod.
	deleteHere = "consumer: delete pods web"
)

// lives are all ways that the life of a pod may take. Each has its own namespace.
var lives = []struct {
	name string
	// uses says that the pod needs a ConfigMap and a Secret.
	uses bool
	play []step
	// want are all requests except those for changes of the remote pod that the local pod has to show, which
	// the life counts. There are three such requests. But there are fewer if the local pod goes at once,
	// because it has ended before it is deleted, or is deleted by force. Then nothing has to let it go.
	want []string
}{
	{
		name: "it runs and is deleted", play: []step{created, scheduledThere, runs, deleted, isKilled, leaves},
		want: []string{create, deleteThere, deleteHere},
	},
	{
		name: "it crashes twice and is killed", play: []step{created, scheduledThere, runs, crashes, crashes, deleted, isKilled, leaves},
		want: []string{create, deleteThere, deleteHere},
	},
	{
		name: "it is deleted before it is scheduled there", play: []step{created, deleted},
		want: []string{create, deleteThere, reportStatus, deleteHere}, // reportStatus says that the pod has Failed, which nobody else reports.
	},
	{
		name: "its end is not reported there", play: []step{created, scheduledThere, runs, deleted, leaves},
		want: []string{create, deleteThere, reportStatus, deleteHere},
	},
	{
		name: "it succeeds, as that of a Job, and is deleted", play: []step{created, scheduledThere, runs, succeeds, deleted},
		want: []string{create, deleteThere},
	},
	{
		name: "it is deleted by force", play: []step{created, scheduledThere, runs, deletedByForce, leaves},
		want: []string{create, deleteThere},
	},
	{
		name: "a part of its status is not kept", play: []step{messagesDropped, created, scheduledThere, runs, saysWhy, deleted, isKilled, leaves},
		want: []string{create, deleteThere, deleteHere},
	},
	{
		name: "it needs a ConfigMap and a Secret", uses: true, play: []step{created, scheduledThere, runs, deleted, isKilled, leaves},
		want: []string{
			create, deleteThere, deleteHere,
			"consumer: patch configmaps settings", "p1: create configmaps settings", "p1: delete configmaps settings", "consumer: patch configmaps settings",
			"consumer: patch secrets password", "p1: create secrets password", "p1: delete secrets password", "consumer: patch secrets password",
		},
	},
	{
		name: "what it needs is changed", uses: true, play: []step{created, scheduledThere, runs, needsChange, deleted, isKilled, leaves},
		want: []string{
			create, deleteThere, deleteHere,
			"consumer: patch configmaps settings", "p1: create configmaps settings", "p1: delete configmaps settings", "consumer: patch configmaps settings",
			"consumer: patch secrets password", "p1: create secrets password", "p1: delete secrets password", "consumer: patch secrets password",
			"consumer: get configmaps settings", "p1: patch configmaps settings", // The manager does not hold the content, and so reads it.
			"p1: patch secrets password", // A change of anything but the content needs no read.
		},
	},
}

// lives plays the lives of pods, and of what is sent with its namespace, all at once. Then it checks the
// requests to the API servers.
func (s *setup) lives(t *testing.T) {
	before := len(s.requests())
	changes := make([]int, len(lives))
	t.Run("played", func(t *testing.T) {
		for i := range lives {
			t.Run(lives[i].name, func(t *testing.T) {
				t.Parallel()
				changes[i] = s.live(t, i)
			})
		}
		s.mapped(t)
	})
	if t.Failed() {
		t.FailNow()
	}
	s.settled(t, time.Now())
	made := s.requests()[before:]
	var about []requests.Request
	for i := range lives {
		t.Run("requests when "+lives[i].name, func(t *testing.T) {
			about, made = ofNamespace(made, i)
			compare(t, append(slices.Repeat([]string{reportStatus}, changes[i]), lives[i].want...), about)
		})
	}
	t.Run("requests about what is sent with its namespace", func(t *testing.T) {
		about, made = ofNamespace(made, inRestart)
		compare(t, wantOfMapped(), about)
	})
	for _, request := range made {
		t.Errorf("nobody has asked for %s", request)
	}
}

// live plays one life in rig.Namespace(i). It returns the number of changes of the remote pod that the local
// pod had to show.
func (s *setup) live(t *testing.T, i int) int {
	l := &life{setup: s, t: t, namespace: i, local: newPod(i, "web")}
	var used []client.Object
	if lives[i].uses {
		using(l.local, "settings", "password")
		used = []client.Object{newConfigMap(l.local.Namespace, "settings"), newSecret(l.local.Namespace, "password")}
	}
	for _, object := range used {
		must(t, s.Consumer.Admin.Create(t.Context(), object))
	}
	for _, step := range lives[i].play {
		step(l)
	}
	l.isOver()
	s.eventually(t, "the copies to be gone, and the mark with them", func(ctx context.Context) error {
		var errs []error
		for _, object := range used {
			errs = append(errs, s.isHome(ctx, object, i))
		}
		return errors.Join(errs...)
	})
	return l.changes
}

// isHome returns an error if a copy of an object of rig.Namespace(i) is left, or one of our marks on that
// object.
func (s *setup) isHome(ctx context.Context, object client.Object, i int) error {
	if err := s.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if len(object.GetFinalizers())+len(object.GetLabels())+len(object.GetAnnotations()) > 0 {
		return fmt.Errorf("%T %s still has a mark: %v %v %v", object, object.GetName(), object.GetFinalizers(), object.GetLabels(), object.GetAnnotations())
	}
	copied := object.DeepCopyObject().(client.Object)
	copied.SetNamespace(remoteNamespace(i))
	return gone(ctx, s.Providers[0].Admin, copied)
}

// ofNamespace separates the requests about rig.Namespace(i), on either side, from the others.
func ofNamespace(all []requests.Request, i int) (of, others []requests.Request) {
	for _, request := range all {
		if request.Namespace == rig.Namespace(i).GetName() || request.Namespace == remoteNamespace(i) {
			of = append(of, request)
		} else {
			others = append(others, request)
		}
	}
	return of, others
}

// compare compares the names of requests with the expected ones, in any order, because some need not wait for
// each other.
func compare(t *testing.T, want []string, requests []requests.Request) {
	t.Helper()
	var got, ordered []string
	for _, request := range requests {
		name := strings.Replace(request.String(), request.Namespace+"/", "", 1)
		got, ordered = append(got, name), append(ordered, name)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("%d requests, want %d (-want +got):\n%s\nin this order:\n%s", len(got), len(want), diff, strings.Join(ordered, "\n"))
	}
}
