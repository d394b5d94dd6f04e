package views

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var errNoPods = errors.New("the answer has no pods")

// joined is one watch made of several, one for each node. Each resumes from its own version when the API server ends
// it, as it does every few minutes. If one fails, all end with an error that makes the Reflector list again.
type joined struct {
	from    *podsOf
	options metav1.ListOptions
	ctx     context.Context // Of all watches.
	cancel  context.CancelFunc
	// out is never closed: several write to it. Whoever reads it ends by Stop, or at the error.
	out chan watch.Event

	mu    sync.Mutex
	nodes map[string]bool
}

var _ watch.Interface = &joined{}

// newJoined watches the nodes of these versions.
func newJoined(ctx context.Context, from *podsOf, options metav1.ListOptions, versions map[string]string) *joined {
	j := &joined{from: from, options: options, out: make(chan watch.Event), nodes: map[string]bool{}}
	j.ctx, j.cancel = context.WithCancel(ctx)
	for name, version := range versions {
		j.nodes[name] = true
		go j.follow(name, version)
	}
	return j
}

// ResultChan implements watch.Interface.
func (j *joined) ResultChan() <-chan watch.Event { return j.out }

// Stop implements watch.Interface.
func (j *joined) Stop() { j.cancel() }

// size is how many nodes are watched.
func (j *joined) size() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.nodes)
}

// add lists and watches one more node, unless it is watched.
func (j *joined) add(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.nodes[name] || j.ctx.Err() != nil {
		return
	}
	j.nodes[name] = true
	go func() {
		list, err := j.from.podsOn(j.ctx, name, metav1.ListOptions{})
		if err != nil {
			j.fail()
			return
		}
		for i := range list.Items {
			j.send(watch.Event{Type: watch.Added, Object: &list.Items[i]})
		}
		j.follow(name, list.ResourceVersion)
	}()
}

// follow watches one node from a version on, until all end.
func (j *joined) follow(name, version string) {
	for {
		options := on(name, j.options)
		options.ResourceVersion = version
		from, err := j.from.from.WatchWithContext(j.ctx, options)
		if err != nil {
			break
		}
		next, resumes := j.pass(from, version)
		if !resumes || next == version { // Nothing came, not even a bookmark: it may fail at once, again and again.
			break
		}
		version = next
	}
	j.fail()
}

// pass passes the events of one watch on, and returns the last version. It reports whether the watch has just ended.
func (j *joined) pass(from watch.Interface, version string) (last string, resumes bool) {
	defer from.Stop()
	for {
		select {
		case <-j.ctx.Done():
			return version, false
		case event, open := <-from.ResultChan():
			if !open {
				return version, true
			}
			object, err := meta.Accessor(event.Object)
			if event.Type == watch.Error || err != nil {
				return version, false
			}
			version = object.GetResourceVersion()
			if event.Type != watch.Bookmark { // A bookmark is of one node.
				j.send(event)
			}
		}
	}
}

func (j *joined) send(event watch.Event) {
	select {
	case <-j.ctx.Done():
	case j.out <- event:
	}
}

// fail makes the reader list again. It does nothing after Stop.
func (j *joined) fail() {
	status := errListAgain().Status()
	j.send(watch.Event{Type: watch.Error, Object: &status})
	j.cancel()
}
