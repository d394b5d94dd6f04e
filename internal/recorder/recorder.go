// Package recorder creates events.
//
// client-go's recorder takes an event for a repetition of an earlier one if both have the same object, type, reason and
// action, whatever their notes say. It then counts, and the earlier note stays: whoever looks sees what is no longer
// true. Here, an event with another note than the one before is a new event. One with the same note is still counted.
package recorder

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/conditions"
)

// In returns the manager with recorders of this package.
func In(mgr manager.Manager) (manager.Manager, error) {
	api, err := typedeventsv1.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	caster := broadcaster(&events.EventSinkImpl{Interface: api})
	log := mgr.GetLogger().WithName("events")
	ctx, stop := context.WithCancel(logr.NewContext(context.Background(), log)) // An event may come before the manager starts.
	if err := caster.StartRecordingToSinkWithContext(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("starting to create events: %w", err)
	}
	if _, err := caster.StartEventWatcher(func(o runtime.Object) {
		if e, ok := o.(*eventsv1.Event); ok {
			log.V(1).Info(e.Note, "type", e.Type, "object", e.Regarding, "reason", e.Reason)
		}
	}); err != nil {
		stop()
		return nil, fmt.Errorf("starting to log events: %w", err)
	}
	return with{mgr, caster}, mgr.Add(ending(func() {
		caster.Shutdown()
		stop()
	}))
}

type with struct {
	manager.Manager
	caster events.EventBroadcaster
}

// GetEventRecorder returns a recorder for a controller.
func (w with) GetEventRecorder(name string) events.EventRecorder {
	return &recorder{to: w.caster.NewRecorder(w.GetScheme(), name)}
}

// ending ends the recorders.
type ending func()

// grace is how long the recorders go on after the manager has been told to end, for the last events of its controllers. Most
// often the process ends before.
const grace = 200 * time.Millisecond

// Start waits until the manager ends.
func (e ending) Start(ctx context.Context) error {
	<-ctx.Done()
	time.AfterFunc(grace, e)
	return nil
}

// NeedLeaderElection returns false: a replica that waits may have something to tell.
func (ending) NeedLeaderElection() bool { return false }

// mark separates the action of an event from a number that is another one for another note. client-go compares actions. The
// API server gets the action alone.
const mark = "#"

// broadcaster returns a broadcaster for the actions of recorder.
func broadcaster(to events.EventSink) events.EventBroadcaster {
	return events.NewBroadcaster(sink{to})
}

type sink struct{ events.EventSink }

// Create creates an event. The broadcaster's copy keeps its number.
func (s sink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	event = event.DeepCopy()
	event.Action, _, _ = strings.Cut(event.Action, mark)
	return s.EventSink.Create(ctx, event)
}

// most is how many notes are remembered. An object whose note was forgotten gets another event instead of a higher count.
const most = 4096

type recorder struct {
	to events.EventRecorder

	mu     sync.Mutex
	told   map[about]told
	number int
}

type about struct {
	uid                                        types.UID
	namespace, name, eventtype, reason, action string
	related                                    types.UID
}

type told struct {
	note   string
	number int
}

// Eventf creates an event, or counts one if it says what the last one said.
func (r *recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	note = fmt.Sprintf(note, args...)
	of := about{eventtype: eventtype, reason: reason, action: action}
	if o, err := meta.Accessor(regarding); err == nil {
		of.uid, of.namespace, of.name = o.GetUID(), o.GetNamespace(), o.GetName()
	}
	if related != nil {
		if o, err := meta.Accessor(related); err == nil {
			of.related = o.GetUID()
		}
	}
	r.to.Eventf(regarding, related, eventtype, reason, action+mark+strconv.Itoa(r.numberOf(of, note)), "%s", conditions.Note(note))
}

func (r *recorder) numberOf(of about, note string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, was := r.told[of]
	if was && last.note == note {
		return last.number
	}
	if r.told == nil || len(r.told) >= most {
		r.told = map[about]told{}
	}
	r.number++
	r.told[of] = told{note, r.number}
	return r.number
}
