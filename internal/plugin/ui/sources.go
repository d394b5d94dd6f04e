package ui

import (
	"context"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// hostedClusters is the name of a kind, like those in package status.
const hostedClusters = "HostedClusters"

// source is a kind that is watched, in all namespaces or in one.
type source struct {
	name    string
	object  client.Object
	list    client.ObjectList
	options []client.ListOption
	// right is what the user needs, with the verbs list and watch.
	right cli.Right
	// optional kinds may be missing in the cluster.
	optional bool
	// quiet kinds are nothing that a team misses.
	quiet bool
}

// kinds returns all sources. In one namespace, the right to read it is enough.
func kinds(namespace string) []source {
	within := client.InNamespace(namespace)
	offloading, cloud := v1alpha1.GroupVersion.Group, hosted.GroupVersion.Group
	return []source{
		{name: status.Bindings, object: &v1alpha1.ClusterBinding{}, list: &v1alpha1.ClusterBindingList{}, right: cli.Right{Group: offloading, Resource: "clusterbindings"}},
		{
			name: status.Nodes, object: &corev1.Node{}, list: &corev1.NodeList{}, right: cli.Right{Resource: "nodes"},
			options: []client.ListOption{client.MatchingLabels{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}},
		},
		{
			name: status.Offloadings, object: &v1alpha1.NamespaceOffloading{}, list: &v1alpha1.NamespaceOffloadingList{},
			right: cli.Right{Group: offloading, Resource: "namespaceoffloadings", Namespace: namespace}, options: []client.ListOption{within},
		},
		{name: status.Pods, object: &corev1.Pod{}, list: &corev1.PodList{}, right: cli.Right{Resource: "pods", Namespace: namespace}, options: []client.ListOption{within}},
		{
			name: status.Events, object: &corev1.Event{}, list: &corev1.EventList{}, right: cli.Right{Resource: "events", Namespace: namespace},
			options: []client.ListOption{within, client.MatchingFields{"involvedObject.kind": "Pod", "type": corev1.EventTypeWarning}},
		},
		{
			name: status.Events, object: &corev1.Event{}, list: &corev1.EventList{}, right: cli.Right{Resource: "events", Namespace: namespace},
			options: []client.ListOption{within, client.MatchingFields{"involvedObject.kind": "Pod", "reason": v1alpha1.ReasonTierOpened}},
		},
		{
			name: hostedClusters, object: &hosted.HostedCluster{}, list: &hosted.HostedClusterList{},
			right: cli.Right{Group: cloud, Resource: "hostedclusters"}, optional: true,
		},
		{
			name: status.ManagerParts, object: &appsv1.Deployment{}, list: &appsv1.DeploymentList{}, quiet: true,
			right:   cli.Right{Group: appsv1.GroupName, Resource: "deployments", Namespace: config.Namespace},
			options: []client.ListOption{client.InNamespace(config.Namespace), client.MatchingFields{"metadata.name": config.Manager}},
		},
	}
}

// trim drops what the page never shows, before it is kept: so memory stays small, and no value of an environment
// variable is in it.
func trim(object any) (any, error) {
	meta, ok := object.(client.Object)
	if !ok {
		return object, nil
	}
	meta.SetManagedFields(nil)
	for key := range meta.GetAnnotations() {
		if key == corev1.LastAppliedConfigAnnotation {
			delete(meta.GetAnnotations(), key)
		}
	}
	if pod, ok := object.(*corev1.Pod); ok {
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				c := &containers[i]
				c.Env, c.EnvFrom, c.Command, c.Args = nil, nil, nil, nil
				c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle, c.SecurityContext = nil, nil, nil, nil, nil
			}
		}
	}
	return object, nil
}

// watcher keeps the objects of a source.
type watcher struct {
	source
	informer cache.SharedIndexInformer
	stop     context.CancelFunc

	mu      sync.Mutex
	problem string
	// refused says that the user has lost the right.
	refused bool
}

// start starts to watch. changed is called after each change, also of the problem.
func (s source) start(ctx context.Context, consumer *cli.Cluster, changed func()) (*watcher, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{source: s, stop: stop}
	from := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := s.list.DeepCopyObject().(client.ObjectList)
			err := consumer.List(ctx, list, append([]client.ListOption{&client.ListOptions{Raw: &o, Limit: o.Limit, Continue: o.Continue}}, s.options...)...)
			return list, w.note(ctx, err, changed)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			list := s.list.DeepCopyObject().(client.ObjectList)
			found, err := consumer.Watch(ctx, list, append([]client.ListOption{&client.ListOptions{Raw: &o}}, s.options...)...)
			return found, w.note(ctx, err, changed)
		},
	}
	w.informer = cache.NewSharedIndexInformer(from, s.object, 0, cache.Indexers{})
	quiet := func(context.Context, *cache.Reflector, error) {} // The page shows it.
	if err := w.informer.SetWatchErrorHandlerWithContext(quiet); err != nil {
		return nil, err
	}
	if err := w.informer.SetTransform(trim); err != nil {
		return nil, err
	}
	if _, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	}); err != nil {
		return nil, err
	}
	go w.informer.RunWithContext(ctx)
	go func() { // An empty list is no event.
		if cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
			changed()
		}
	}()
	return w, nil
}

// note remembers why the last request has failed. Whoever has lost the right does not ask again.
func (w *watcher) note(ctx context.Context, err error, changed func()) error {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	// Then the reflector lists again; that is no problem.
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		text = ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused {
		return err // The first refusal counts.
	}
	differs := w.problem != text
	w.problem, w.refused = text, apierrors.IsForbidden(err)
	if w.refused {
		w.stop()
	}
	if differs {
		changed()
	}
	return err
}

// says returns why the objects may be out of date, and whether the user has lost the right to read them.
func (w *watcher) says() (problem string, refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(w.problem), w.refused
}

// objectsOf returns copies of the objects of a watcher. What they point to is shared, and nobody changes it.
func objectsOf[T any](w *watcher) []T {
	all := w.informer.GetStore().List()
	copies := make([]T, 0, len(all))
	for _, one := range all {
		if object, ok := one.(*T); ok {
			copies = append(copies, *object)
		}
	}
	return copies
}
