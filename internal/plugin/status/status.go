// Package status is kubectl spillway status: a tree of providers, namespaces and pods, with everything that
// waits.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/install"
)

type options struct {
	format             string
	watch, all, settle bool
	timeout            time.Duration
}

// Command returns the command status.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "status",
		Short: "Show what runs where, and what waits",
		Long: `Shows the providers, their nodes, the namespaces that are offloaded to them, and their pods, with every
problem and its reason, and what Spillway has said within the last hour about other objects that are not sent. Running pods are counted; --pods lists them. -n shows one namespace only, for which the role
edit in it is enough.`,
		Example: `  kubectl spillway status
  kubectl spillway status --watch
  kubectl spillway status -n team-a

  # Wait until all of it runs, for scripts
  kubectl spillway status --wait --timeout 2m -n team-a

  # What waits, as JSON
  kubectl spillway status -o json | jq '.bindings[].waits'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(o.format); err != nil {
				return err
			}
			return o.run(command.Context(), f)
		},
	}
	cli.AddFormat(command.Flags(), &o.format)
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "show it again after each change, until Ctrl-C")
	command.Flags().BoolVar(&o.settle, "wait", false, "wait until the manager is available, all providers and namespaces are ready, and all pods run")
	command.Flags().DurationVar(&o.timeout, "timeout", longest, "how long --wait waits")
	command.MarkFlagsMutuallyExclusive("watch", "wait")
	command.Flags().BoolVar(&o.all, "pods", false, "list running pods, too")
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory) error {
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	namespace := ptr.Deref(f.Namespace, "") // The namespace of the context is for commands about one namespace.
	if err := Known(ctx, consumer, namespace); err != nil {
		return err
	}
	if o.settle {
		return o.wait(ctx, f, consumer, namespace)
	}
	if !o.watch {
		_, err := o.show(ctx, f, consumer, namespace, "")
		return err
	}
	watched, err := readable(ctx, consumer, namespace)
	if err != nil {
		return err
	}
	last := ""
	err = follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		last, err = o.show(ctx, f, consumer, namespace, last)
		return false, err
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Known returns an error if the namespace does not exist. Teams may use a namespace that they may not read.
func Known(ctx context.Context, consumer client.Client, namespace string) error {
	if namespace == "" {
		return nil
	}
	err := consumer.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no namespace %s", namespace)
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	return nil
}

// readable returns what the user may watch, because a refused watch would be retried each second.
func readable(ctx context.Context, consumer *cli.Cluster, namespace string) ([]follow.Watched, error) {
	seen, err := readTold(ctx, consumer, namespace)
	if err != nil {
		return nil, err
	}
	var watched []follow.Watched
	if !seen.Hides(Events) {
		watched = append(watched, follow.Watched{List: &corev1.EventList{}, Options: []client.ListOption{client.InNamespace(namespace), othersWarnings}})
	}
	for name, one := range map[string]follow.Watched{
		Bindings: {List: &v1alpha1.ClusterBindingList{}}, Nodes: {List: &corev1.NodeList{}, Options: []client.ListOption{virtual}},
		Offloadings: {List: &v1alpha1.NamespaceOffloadingList{}, Options: []client.ListOption{client.InNamespace(namespace)}},
		Pods:        {List: &corev1.PodList{}, Options: []client.ListOption{client.InNamespace(namespace)}},
		Events:      {List: &corev1.EventList{}, Options: []client.ListOption{client.InNamespace(namespace), warnings}},
	} {
		if !seen.Hides(name) {
			watched = append(watched, one)
		}
	}
	return watched, nil
}

// show prints the tree, unless it is the same as the last one.
func (o *options) show(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, namespace, last string) (string, error) {
	seen, err := readTold(ctx, consumer, namespace)
	if err != nil {
		return last, err
	}
	status := Tree(seen)
	text := Text(status, o.all)
	if text == last {
		return last, nil
	}
	if o.format != "" {
		return text, cli.Print(f.Out, o.format, status)
	}
	if last != "" {
		_, err = fmt.Fprintf(f.Out, "\n%s\n", time.Now().Format(time.TimeOnly))
	}
	if err == nil {
		_, err = fmt.Fprint(f.Out, text)
	}
	return text, err
}

var virtual = client.MatchingLabels{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}

// warnings selects Spillway's warnings about pods without a node, so that the API server sends little.
var warnings = client.MatchingFields{"reportingComponent": "spillway-unscheduledpod", "type": corev1.EventTypeWarning}

// readTold also reads those warnings, and those about other objects.
func readTold(ctx context.Context, consumer *cli.Cluster, namespace string) (Seen, error) {
	seen, err := readWarned(ctx, consumer, namespace)
	if err != nil {
		return seen, err
	}
	return seen, seen.ReadObjects(ctx, consumer)
}

// readWarned also reads those warnings.
func readWarned(ctx context.Context, consumer *cli.Cluster, namespace string) (Seen, error) {
	seen, err := Read(ctx, consumer, namespace)
	if err != nil {
		return seen, err
	}
	events := &corev1.EventList{}
	err = consumer.List(ctx, events, client.InNamespace(namespace), warnings)
	switch {
	case apierrors.IsForbidden(err):
		seen.Hidden = append(seen.Hidden, Events)
	case err != nil:
		return seen, fmt.Errorf("reading %s: %w", Events, err)
	}
	seen.Events = events.Items
	return seen, nil
}

// Read reads what the tree shows, as far as the user may. It reads one namespace, or all if namespace is
// empty.
func Read(ctx context.Context, consumer *cli.Cluster, namespace string) (Seen, error) {
	bindings, offloadings := &v1alpha1.ClusterBindingList{}, &v1alpha1.NamespaceOffloadingList{}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	seen := Seen{Namespace: namespace}
	within := []client.ListOption{client.InNamespace(namespace)}
	for _, one := range []struct {
		name string
		list client.ObjectList
		by   []client.ListOption
	}{
		{Bindings, bindings, nil}, {Offloadings, offloadings, within}, {Nodes, nodes, []client.ListOption{virtual}}, {Pods, pods, within},
	} {
		err := consumer.List(ctx, one.list, one.by...)
		switch {
		case meta.IsNoMatchError(err):
			return seen, fmt.Errorf("Spillway is not installed in %s: run kubectl spillway install", consumer.Name)
		case apierrors.IsForbidden(err):
			seen.Hidden = append(seen.Hidden, one.name)
		case err != nil:
			return seen, fmt.Errorf("reading %s: %w", one.name, err)
		}
	}
	seen.Bindings, seen.Nodes, seen.Offloadings = bindings.Items, nodes.Items, offloadings.Items
	seen.Sort(pods.Items)
	return seen, seen.manager(ctx, consumer)
}

// Sort keeps the pods that may have something to do with a provider.
func (s *Seen) Sort(pods []corev1.Pod) {
	offloaded, there := map[string]bool{}, map[string]bool{}
	for i := range s.Offloadings {
		offloaded[s.Offloadings[i].Namespace] = true
	}
	for i := range s.Nodes {
		there[s.Nodes[i].Name] = true
	}
	for i := range pods {
		switch pod := &pods[i]; {
		case there[pod.Spec.NodeName], s.Hides(Nodes) && isVirtual(pod.Spec.NodeName),
			pod.Spec.NodeName == "" && (offloaded[pod.Namespace] || unscheduledpod.OnlyVirtual(pod)):
			s.Pods = append(s.Pods, *pod)
		case offloaded[pod.Namespace]:
			s.Local = append(s.Local, *pod)
		}
	}
}

// ReadManager returns whether the manager is available; nil if the user may not read that.
func ReadManager(ctx context.Context, consumer *cli.Cluster) (*Manager, error) {
	var seen Seen
	if err := seen.manager(ctx, consumer); err != nil || seen.Hides(ManagerParts) {
		return nil, err
	}
	return &Manager{Available: seen.Available, Message: seen.Waits, Outside: seen.Outside}, nil
}

// manager reads whether the manager is available.
func (s *Seen) manager(ctx context.Context, consumer *cli.Cluster) (err error) {
	if s.Available, s.Waits, err = install.Manager(ctx, consumer); err == nil && !s.Available {
		if s.Outside, err = install.Outside(ctx, consumer); s.Outside != "" {
			s.Available, s.Waits = true, ""
		}
	}
	if apierrors.IsForbidden(err) {
		s.Hidden, s.Available, s.Waits = append(s.Hidden, ManagerParts), false, ""
		return nil
	}
	return err
}
