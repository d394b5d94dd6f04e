// Package explain is kubectl spillway explain: it says where a pod is and why, what it waits for, and what
// was left out.
package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// Command returns the command explain.
func Command(f *cli.Factory) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "explain POD",
		Short: "Show where a pod is and why, what it waits for, and what is not sent",
		Long: `Shows where a pod is and why, what it waits for, and what is not sent to the provider. Reads the pod's conditions,
annotations and events, its namespace, and the binding of its provider. What you may not read is left out.`,
		Example: `  kubectl spillway explain web-67ff8d8774-8sx85 -n team-a`,
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			name, err := podName(args[0])
			if err != nil {
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
			explanation, err := Of(command.Context(), consumer, client.ObjectKey{Namespace: namespace, Name: name})
			if err != nil {
				return err
			}
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

// podName returns the name of the pod. It may be given as kubectl prints it, as pod/NAME.
func podName(given string) (string, error) {
	kind, name, found := strings.Cut(given, "/")
	switch {
	case !found:
		return given, nil
	case (kind == "pod" || kind == "pods") && name != "":
		return name, nil
	}
	return "", fmt.Errorf("explain needs the name of a pod, not %s: see kubectl get pods", given)
}

// Of reads a pod and what is around it, as far as the user may, and explains it.
func Of(ctx context.Context, consumer *cli.Cluster, key client.ObjectKey) (Explanation, error) {
	seen, err := read(ctx, consumer, key)
	if err != nil {
		return Explanation{}, err
	}
	return Explain(seen), nil
}

func read(ctx context.Context, consumer *cli.Cluster, key client.ObjectKey) (Seen, error) {
	seen := Seen{Pod: &corev1.Pod{}, Now: time.Now()}
	if err := consumer.Get(ctx, key, seen.Pod); err != nil {
		if unknown := status.Known(ctx, consumer, key.Namespace); apierrors.IsNotFound(err) && unknown != nil {
			return seen, unknown
		}
		return seen, fmt.Errorf("reading pod %s (-n gives another namespace): %w", key, err)
	}
	var err error
	if seen.Offloading, seen.Hidden, err = optional(ctx, consumer, client.ObjectKey{Namespace: key.Namespace, Name: v1alpha1.OffloadingName}, &v1alpha1.NamespaceOffloading{}); err != nil {
		return seen, err
	}
	if seen.Pod.Spec.NodeName != "" {
		if seen.Node, _, err = optional(ctx, consumer, client.ObjectKey{Name: seen.Pod.Spec.NodeName}, &corev1.Node{}); err != nil {
			return seen, err
		}
	}
	bindings := &v1alpha1.ClusterBindingList{}
	if err = consumer.List(ctx, bindings); !hidden(err) && err != nil {
		return seen, fmt.Errorf("reading ClusterBindings: %w", err)
	}
	seen.Bindings, seen.HiddenBindings = placement.NewIndex(bindings.Items), apierrors.IsForbidden(err)
	for i := range bindings.Items {
		if v1alpha1.SameProvider(seen.Pod.Spec.NodeName, bindings.Items[i].VirtualNodeName()) {
			seen.Binding = &bindings.Items[i]
		}
	}
	if seen.Nodes, err = others(ctx, consumer, seen); err != nil {
		return seen, err
	}
	if seen.Events, err = events(ctx, consumer, key.Namespace, client.MatchingFields{"involvedObject.uid": string(seen.Pod.UID)}); err != nil {
		return seen, err
	}
	seen.Claims, err = claims(ctx, consumer, seen.Pod)
	return seen, err
}

// others reads the virtual nodes to which a pod may go that its provider does not run.
func others(ctx context.Context, consumer client.Client, seen Seen) (map[string][]*corev1.Node, error) {
	if pod.StuckOf(seen.Pod) == nil || len(seen.Bindings.Usable()) == 0 {
		return nil, nil
	}
	nodes := map[string][]*corev1.Node{}
	for _, binding := range seen.Bindings.Usable() {
		if !namespaceoffloading.Answers(binding) {
			continue
		}
		list := &corev1.NodeList{}
		err := consumer.List(ctx, list, client.MatchingLabels{v1alpha1.LabelCluster: binding.Spec.ClusterID})
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the virtual nodes of %s: %w", binding.Name, err)
		}
		for i := range list.Items {
			nodes[binding.Spec.ClusterID] = append(nodes[binding.Spec.ClusterID], &list.Items[i])
		}
	}
	return nodes, nil
}

// events reads the events about an object, the latest last.
func events(ctx context.Context, consumer client.Client, namespace string, about client.MatchingFields) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	if err := consumer.List(ctx, list, client.InNamespace(namespace), about); !hidden(err) && err != nil {
		return nil, fmt.Errorf("reading the events in namespace %s: %w", namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return status.When(&a).Compare(status.When(&b)) })
	return list.Items, nil
}

// hidden reports whether an error means that this user cannot see the object.
func hidden(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// optional reads an object. It returns nil if the object does not exist, or if the user may not read it.
func optional[T client.Object](ctx context.Context, consumer client.Client, key client.ObjectKey, object T) (found T, isHidden bool, err error) {
	var none T
	err = consumer.Get(ctx, key, object)
	if hidden(err) {
		return none, apierrors.IsForbidden(err), nil
	}
	if err != nil {
		return none, false, fmt.Errorf("reading %T %s: %w", object, key, err)
	}
	return object, false, nil
}
