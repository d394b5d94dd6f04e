package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	cloud "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/hosted"
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

// observed are the watches of one run.
type observed struct {
	scope
	watchers []*watcher
	hidden   []string
	notes    []string
	// pages are the hosted clusters as last shown, because to merge their fields takes time.
	pages map[string]shownCluster
}

type shownCluster struct {
	version string
	page    hosted.Page
}

// observe starts the watches that the user has the rights for, and notes which rights are missing.
func (s scope) observe(ctx context.Context, changed func()) (*observed, error) {
	o := &observed{scope: s, pages: map[string]shownCluster{}}
	if err := o.narrow(ctx); err != nil {
		return nil, err
	}
	for _, source := range kinds(o.namespace) {
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
			o.hide(source, "you lack the right to "+lacks[0].String())
			continue
		}
		w, err := source.start(ctx, s.consumer, changed)
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
func (o *observed) narrow(ctx context.Context) error {
	if o.namespace != "" {
		return nil
	}
	lacks, err := o.consumer.Lacks(ctx, toRead(cli.Right{Resource: "pods"}))
	if err != nil || len(lacks) == 0 {
		return err
	}
	o.namespace = o.own
	o.notes = append(o.notes, fmt.Sprintf("only namespace %s is shown: you lack the right to %s in all namespaces; -n NAMESPACE shows another one", o.own, lacks[0]))
	return nil
}

// hide notes that a kind is not shown.
func (o *observed) hide(s source, why string) {
	if !slices.Contains(o.hidden, s.name) {
		o.hidden = append(o.hidden, s.name)
		o.notes = append(o.notes, fmt.Sprintf("%s are not shown: %s", s.name, why))
	}
}

// objects returns what the watches show now.
func (o *observed) objects(now time.Time) view.Objects {
	seen := view.Objects{Where: o.where, Namespace: o.namespace, Now: now}
	o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool {
		problem, refused := w.says()
		if refused {
			o.hide(w.source, problem)
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
