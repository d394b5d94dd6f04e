package views

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/field"
)

// onNodes lists and watches the pods on the virtual nodes of one binding. A binding without groups has one node, and
// then the requests are those of any informer. A field selector cannot name two nodes, so with more there is one watch
// for each (see joined).
type onNodes struct {
	node string // The virtual node without a group. Its pods are always watched.

	mu      sync.Mutex
	groups  map[string]field.Group // Of all nodes that are known, by name. It is replaced, and not changed.
	names   []string               // Of all nodes, sorted.
	listed  []string               // The nodes of the last list, or of the watch that began with one.
	version map[string]string      // The version of the last list of each node. A watch of several takes them, once.
	watched interface{ Stop() }    // The present watch.
}

func newOnNodes(node string, groups map[string]field.Group) *onNodes {
	o := &onNodes{node: node}
	o.set(groups)
	return o
}

// set replaces the known nodes. The pods of a new node appear a moment later. A node that is gone is watched until the
// next list: its pods may outlive it.
func (o *onNodes) set(groups map[string]field.Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := slices.Sorted(maps.Keys(groups))
	if at, found := slices.BinarySearch(names, o.node); !found {
		names = slices.Insert(names, at, o.node)
	}
	before := o.names
	o.groups, o.names = groups, names
	if o.watched == nil || slices.Equal(before, names) {
		return
	}
	several, ok := o.watched.(*joined)
	if !ok {
		o.watched.Stop() // The next watch is of several nodes.
		return
	}
	for _, name := range names {
		several.add(name)
	}
	if several.size() > len(names)+mostGone {
		go several.fail()
	}
}

// mostGone is how many nodes that are gone are watched. With more, all others are listed again.
const mostGone = 64

// known returns the groups of the virtual nodes, by the name of the node.
func (o *onNodes) known() map[string]field.Group {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.groups
}

// informer is cache.Options.NewInformer of a View.
func (o *onNodes) informer(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if _, isPod := object.(*corev1.Pod); isPod {
		from = o.only(from)
	}
	return informer.New(from, object, resync, indexers)
}

// podsOf limits a list and watch of pods.
type podsOf struct {
	*onNodes
	from toolscache.ListerWatcherWithContext
	// unsupported reports that from cannot begin a watch with a list.
	unsupported bool
}

func (o *onNodes) only(from toolscache.ListerWatcher) toolscache.ListerWatcher {
	return &podsOf{o, toolscache.ToListerWatcherWithContext(from), watchlist.DoesClientNotSupportWatchListSemantics(from)}
}

// IsWatchListSemanticsUnSupported is what client-go asks for.
func (p *podsOf) IsWatchListSemanticsUnSupported() bool { return p.unsupported }

// List implements ListerWatcher.
func (p *podsOf) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch implements ListerWatcher.
func (p *podsOf) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// ListWithContext lists the pods on all nodes.
func (p *podsOf) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	p.mu.Lock()
	names := p.names
	p.listed, p.version = nil, nil
	p.mu.Unlock()
	if len(names) == 1 {
		list, err := p.from.ListWithContext(ctx, on(names[0], options))
		p.note(names, nil)
		return list, err
	}
	options.Limit, options.Continue = 0, ""
	all, versions := &corev1.PodList{}, map[string]string{}
	for _, name := range names {
		list, err := p.podsOn(ctx, name, options)
		if err != nil {
			return nil, err
		}
		versions[name] = list.ResourceVersion
		all.Items = append(all.Items, list.Items...)
		all.ResourceVersion = oldest(all.ResourceVersion, list.ResourceVersion)
	}
	p.note(names, versions)
	return all, nil
}

func (p *podsOf) podsOn(ctx context.Context, name string, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := p.from.ListWithContext(ctx, on(name, options))
	if err != nil {
		return nil, err
	}
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return nil, apierrors.NewInternalError(errNoPods)
	}
	return pods, nil
}

func (p *podsOf) note(listed []string, versions map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed, p.version = listed, versions
}

// WatchWithContext watches what was listed. If that was of other nodes, or the versions are used, everything must be
// listed again: the one version that the caller knows is not that of each node.
func (p *podsOf) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	p.mu.Lock()
	names, begins := p.names, options.SendInitialEvents != nil && *options.SendInitialEvents
	if len(names) == 1 {
		if begins {
			p.listed = names
		}
		same := slices.Equal(p.listed, names)
		p.mu.Unlock()
		if !same {
			return nil, errListAgain()
		}
		return p.watchOne(ctx, names, options)
	}
	defer p.mu.Unlock()
	if begins { // The caller lists then.
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "pods"}, "watch of several nodes with initial events")
	}
	if p.version == nil {
		return nil, errListAgain()
	}
	several := newJoined(ctx, p, options, p.version)
	p.version, p.watched = nil, several
	for _, name := range names { // Those that came since.
		several.add(name)
	}
	return several, nil
}

// watchOne watches the pods of the only node.
func (p *podsOf) watchOne(ctx context.Context, names []string, options metav1.ListOptions) (watch.Interface, error) {
	watched, err := p.from.WatchWithContext(ctx, on(names[0], options))
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.names, names) {
		watched.Stop()
		return nil, errListAgain()
	}
	p.watched = watched
	return watched, nil
}

func on(node string, options metav1.ListOptions) metav1.ListOptions {
	options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
	return options
}

// errListAgain makes a Reflector list again.
func errListAgain() *apierrors.StatusError {
	return apierrors.NewResourceExpired("the virtual nodes whose pods are watched have changed")
}

// oldest returns the older of two versions. What is not a number counts as newer.
func oldest(a, b string) string {
	if older, err := resourceversion.CompareResourceVersion(a, b); a == "" || err == nil && older > 0 {
		return b
	}
	return a
}
