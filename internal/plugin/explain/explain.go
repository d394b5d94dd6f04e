// Package explain is kubectl spillway explain: where a pod went and why, what it waits for,
// and what was left out.
package explain

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// Command is explain.
func Command(f *cli.Factory) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "explain POD",
		Short: "Say where a pod is and why, what it waits for, and what was left out",
		Long: `Says of a pod where it is and why, what it waits for, and what the provider has not of it: from its conditions, its
annotations and its events, and from what is known of its namespace and of the provider. What you may not read is left out.`,
		Example: `  kubectl spillway explain web-67ff8d8774-8sx85 -n team-a`,
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			namespace, _, err := f.ToRawKubeConfigLoader().Namespace()
			if err != nil {
				return err
			}
			consumer, err := f.Consumer()
			if err != nil {
				return err
			}
			seen, err := read(command.Context(), consumer, client.ObjectKey{Namespace: namespace, Name: args[0]})
			if err != nil {
				return err
			}
			explanation := Explain(seen)
			if format != "" {
				return cli.Print(f.Out, format, explanation)
			}
			_, err = fmt.Fprint(f.Out, Text(explanation))
			return err
		},
	}
	cli.AddFormat(command.Flags(), &format)
	return command
}

func read(ctx context.Context, consumer *cli.Cluster, key client.ObjectKey) (Seen, error) {
	seen := Seen{Pod: &corev1.Pod{}}
	if err := consumer.Get(ctx, key, seen.Pod); err != nil {
		return seen, fmt.Errorf("reading pod %s (-n gives another namespace): %w", key, err)
	}
	var err error
	if seen.Offloading, err = optional(ctx, consumer, client.ObjectKey{Namespace: key.Namespace, Name: v1alpha1.OffloadingName}, &v1alpha1.NamespaceOffloading{}); err != nil {
		return seen, err
	}
	if seen.Pod.Spec.NodeName != "" {
		if seen.Node, err = optional(ctx, consumer, client.ObjectKey{Name: seen.Pod.Spec.NodeName}, &corev1.Node{}); err != nil {
			return seen, err
		}
	}
	bindings := &v1alpha1.ClusterBindingList{}
	if err := consumer.List(ctx, bindings); !hidden(err) && err != nil {
		return seen, fmt.Errorf("reading ClusterBindings: %w", err)
	}
	for i := range bindings.Items {
		if bindings.Items[i].VirtualNodeName() == seen.Pod.Spec.NodeName {
			seen.Binding = &bindings.Items[i]
		}
	}
	events := &corev1.EventList{}
	if err := consumer.List(ctx, events, client.InNamespace(key.Namespace), client.MatchingFields{"involvedObject.uid": string(seen.Pod.UID)}); !hidden(err) && err != nil {
		return seen, fmt.Errorf("reading the events of the pod: %w", err)
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	seen.Events = events.Items
	return seen, nil
}

// hidden reports whether an error says that there is nothing to see, for this user.
func hidden(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// optional reads an object, and returns nil if it is not there, or not for this user.
func optional[T client.Object](ctx context.Context, consumer client.Client, key client.ObjectKey, object T) (T, error) {
	var none T
	err := consumer.Get(ctx, key, object)
	if hidden(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("reading %T %s: %w", object, key, err)
	}
	return object, nil
}
