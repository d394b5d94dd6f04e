package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	cloud "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/hosted"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

// scope is what is read.
type scope struct {
	consumer *cli.Cluster
	where    string
	// namespace is the only namespace to read; empty for all that the user may read.
	namespace string
	// own is the namespace of the kubeconfig, for users who may not read pods everywhere.
	own string
}

// rights are what the user may read.
type rights struct {
	// namespace is the only one that is read; empty for all.
	namespace string
	sources   []source
	hidden    []string
	notes     []string
}

// equal reports whether the same is read.
func (r *rights) equal(other *rights) bool {
	return r.namespace == other.namespace && slices.Equal(r.notes, other.notes) && slices.Equal(r.hidden, other.hidden)
}

// lack reports whether something is not read any more.
func (r *rights) lack(before *rights) bool {
	return r.namespace != before.namespace || slices.ContainsFunc(before.sources, func(s source) bool {
		return !slices.ContainsFunc(r.sources, func(now source) bool { return now.name == s.name })
	})
}

// observed are the watches of one run.
type observed struct {
	scope
	*rights
	watchers []*watcher
	// lost says that the user has lost a right since.
	lost bool
	// manager says whether the manager is available; nil if the user may not read that. unread says that it may have changed.
	manager *status.Manager
	unread  atomic.Bool
	// pages are the hosted clusters as last shown, because to merge their fields takes time.
	pages map[string]shownCluster
}

type shownCluster struct {
	version string
	page    hosted.Page
}

// rights reads what the user may watch, and notes which rights are missing.
func (s scope) rights(ctx context.Context) (*rights, error) {
	r := &rights{namespace: s.namespace}
	if err := r.narrow(ctx, s); err != nil {
		return nil, err
	}
	for _, source := range kinds(r.namespace) {
		if source.optional {
			served, err := s.consumer.Serves(cloud.GroupVersion.WithKind("HostedCluster"))
			if err != nil {
				return nil, err
			}
			if !served {
				continue
			}
		}
		lacks, err := s.consumer.Lacks(ctx, toRead(source.right))
		if err != nil {
			return nil, err
		}
		if len(lacks) > 0 {
			r.hide(source, "you lack the right to "+lacks[0].String())
			continue
		}
		r.sources = append(r.sources, source)
	}
	return r, nil
}

// observe starts the watches that the user has the rights for.
func (s scope) observe(ctx context.Context, r *rights, changed func()) (*observed, error) {
	own := *r // The watches find out more.
	own.hidden, own.notes = slices.Clone(r.hidden), slices.Clone(r.notes)
	o := &observed{scope: s, rights: &own, pages: map[string]shownCluster{}}
	o.unread.Store(true)
	for _, source := range r.sources {
		tell := changed
		if source.name == status.ManagerParts {
			tell = func() { o.unread.Store(true); changed() }
		}
		w, err := source.start(ctx, s.consumer, tell)
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", source.name, err)
		}
		o.watchers = append(o.watchers, w)
	}
	return o, nil
}

func toRead(right cli.Right) []cli.Right {
	list, watch := right, right
	list.Verb, watch.Verb = "list", "watch"
	return []cli.Right{list, watch}
}

// narrow takes the namespace of the kubeconfig if the user may not read the pods of all namespaces.
func (r *rights) narrow(ctx context.Context, s scope) error {
	if r.namespace != "" {
		return nil
	}
	lacks, err := s.consumer.Lacks(ctx, toRead(cli.Right{Resource: "pods"}))
	if err != nil || len(lacks) == 0 {
		return err
	}
	r.namespace = s.own
	r.notes = append(r.notes, fmt.Sprintf("only namespace %s is shown: you lack the right to %s in all namespaces; -n NAMESPACE shows another one", s.own, lacks[0]))
	return nil
}

// hide notes that a kind is not shown.
func (r *rights) hide(s source, why string) {
	if slices.Contains(r.hidden, s.name) {
		return
	}
	r.hidden = append(r.hidden, s.name)
	if !s.quiet {
		r.notes = append(r.notes, fmt.Sprintf("%s are not shown: %s", s.name, why))
	}
}

// readManager reads whether the manager is available, if that may have changed. While it cannot be read, the last answer
// stays, and the notes say that the API server does not answer.
func (o *observed) readManager(ctx context.Context) {
	if slices.Contains(o.hidden, status.ManagerParts) || !o.unread.Swap(false) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, managerPatience)
	defer cancel()
	if manager, err := status.ReadManager(limited, o.consumer); err == nil {
		o.manager = manager
	}
}

// managerPatience is how long the page waits for that.
const managerPatience = 5 * time.Second

// objects returns what the watches show now.
func (o *observed) objects(now time.Time) view.Objects {
	seen := view.Objects{Where: o.where, Namespace: o.rights.namespace, Manager: o.manager, Now: now}
	o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool {
		problem, refused := w.says()
		if refused {
			o.hide(w.source, problem)
			o.lost = true
		}
		return refused
	})
	seen.Hidden, seen.Notes = slices.Clone(o.hidden), slices.Clone(o.notes)
	for _, w := range o.watchers {
		switch problem, _ := w.says(); {
		case problem != "":
			seen.Notes = append(seen.Notes, fmt.Sprintf("%s may be out of date: %s", w.name, problem))
		case !w.informer.HasSynced():
			seen.Notes = append(seen.Notes, w.name+" are being read")
		}
		switch w.object.(type) {
		case *v1alpha1.ClusterBinding:
			seen.Bindings = objectsOf[v1alpha1.ClusterBinding](w)
		case *v1alpha1.NamespaceOffloading:
			seen.Offloadings = objectsOf[v1alpha1.NamespaceOffloading](w)
		case *corev1.Node:
			seen.Nodes = objectsOf[corev1.Node](w)
		case *corev1.Pod:
			seen.Pods = objectsOf[corev1.Pod](w)
		case *corev1.Event:
			seen.Events = append(seen.Events, objectsOf[corev1.Event](w)...)
		case *cloud.HostedCluster:
			seen.Hosted = o.hostedPages(objectsOf[cloud.HostedCluster](w), now)
		}
	}
	slices.SortFunc(seen.Bindings, func(a, b v1alpha1.ClusterBinding) int { return cmp.Compare(a.Name, b.Name) })
	seen.Notes = slices.Compact(seen.Notes)
	return seen
}

// hostedPages returns the pages of the hosted clusters. It computes those anew that have changed.
func (o *observed) hostedPages(all []cloud.HostedCluster, now time.Time) []hosted.Page {
	pages, kept := []hosted.Page{}, map[string]shownCluster{}
	for i := range all {
		h := &all[i]
		one := o.pages[h.Name]
		if one.version != h.ResourceVersion {
			one = shownCluster{h.ResourceVersion, hosted.PageOf(h, now)}
		}
		kept[h.Name], pages = one, append(pages, one.page)
	}
	o.pages = kept
	slices.SortFunc(pages, func(a, b hosted.Page) int { return cmp.Compare(a.Name, b.Name) })
	return pages
}
