// Package status is kubectl spillway status: a tree of what is where, and of all that waits.
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/install"
)

type options struct {
	format     string
	watch, all bool
}

// Command is status.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "status",
		Short: "Show what is where, and what waits for what",
		Long: `Shows the providers, their nodes, the namespaces that are offloaded to them, and their pods, with everything that is
not as it should be and why. Pods that run are counted; --pods shows them.`,
		Example: `  kubectl spillway status
  kubectl spillway status --watch

  # What waits, for a program
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
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "show it again after each change, until you end it")
	command.Flags().BoolVar(&o.all, "pods", false, "show pods that run, too")
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory) error {
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	if !o.watch {
		_, err := o.show(ctx, f, consumer, "")
		return err
	}
	watched := []follow.Watched{
		{List: &v1alpha1.ClusterBindingList{}}, {List: &v1alpha1.NamespaceOffloadingList{}}, {List: &corev1.PodList{}},
		{List: &corev1.NodeList{}, Options: []client.ListOption{virtual}},
	}
	last := ""
	err = follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		last, err = o.show(ctx, f, consumer, last)
		return false, err
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// show prints the tree, unless it is the same as the last one.
func (o *options) show(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, last string) (string, error) {
	seen, err := Read(ctx, consumer)
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

// Read reads all that a user may read of what the tree shows.
func Read(ctx context.Context, consumer *cli.Cluster) (Seen, error) {
	bindings, offloadings := &v1alpha1.ClusterBindingList{}, &v1alpha1.NamespaceOffloadingList{}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	var seen Seen
	for _, one := range []struct {
		name string
		list client.ObjectList
		by   []client.ListOption
	}{
		{"ClusterBindings", bindings, nil}, {Offloadings, offloadings, nil}, {"Nodes", nodes, []client.ListOption{virtual}}, {Pods, pods, nil},
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
	offloaded := map[string]bool{}
	for i := range offloadings.Items {
		offloaded[offloadings.Items[i].Namespace] = true
	}
	isVirtual := map[string]bool{}
	for i := range nodes.Items {
		isVirtual[nodes.Items[i].Name] = true
	}
	for i := range pods.Items {
		switch pod := &pods.Items[i]; {
		case isVirtual[pod.Spec.NodeName], pod.Spec.NodeName == "" && offloaded[pod.Namespace]:
			seen.Pods = append(seen.Pods, *pod)
		case offloaded[pod.Namespace]:
			seen.Local = append(seen.Local, *pod)
		}
	}
	var err error
	seen.Available, seen.Waits, err = install.Manager(ctx, consumer)
	if apierrors.IsForbidden(err) {
		seen.Hidden = append(seen.Hidden, "the manager's Deployment and Pods")
		seen.Waits = "unknown"
		return seen, nil
	}
	if err != nil || seen.Available {
		return seen, err
	}
	if seen.Outside, err = install.Outside(ctx, consumer); seen.Outside != "" {
		seen.Available, seen.Waits = true, ""
	}
	return seen, err
}
