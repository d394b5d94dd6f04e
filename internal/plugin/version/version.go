// Package version is kubectl spillway version: it shows the versions of the plugin, of the consumer, and of the manager.
package version

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// versions is what -o json prints.
type versions struct {
	Plugin string `json:"plugin"`
	// Kubernetes is the version of the consumer's API server.
	Kubernetes string   `json:"kubernetes,omitempty"`
	Manager    *manager `json:"manager,omitempty"`
}

// manager is the manager as its Deployment shows it. A manager outside of the cluster has no image.
type manager struct {
	status.Manager `json:",inline"`
	Image          string `json:"image,omitempty"`
}

// Command returns the command version.
func Command(f *cli.Factory) *cobra.Command {
	var format string
	var clientOnly bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of the plugin, of this cluster and of the manager",
		Long: `Shows the version of this plugin, the version of Kubernetes here, and the image of the manager, whose tag is its version.
A manager outside of this cluster has no image: ask its program with --version. It changes nothing.`,
		Example: `  kubectl spillway version
  kubectl spillway version --client`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			found := versions{Plugin: f.Version}
			var problem error
			if !clientOnly {
				problem = found.read(command.Context(), f)
			}
			if format != "" {
				if err := cli.Print(f.Out, format, found); err != nil {
					return err
				}
			} else if _, err := fmt.Fprint(f.Out, found.text(clientOnly || problem != nil)); err != nil {
				return err
			}
			return problem
		},
	}
	cli.AddFormat(command.Flags(), &format)
	command.Flags().BoolVar(&clientOnly, "client", false, "show the version of the plugin only, and ask no cluster")
	return command
}

// read asks the consumer.
func (v *versions) read(ctx context.Context, f *cli.Factory) error {
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	kubernetes, err := consumer.Version()
	if err != nil {
		return err
	}
	v.Kubernetes = kubernetes.String()
	seen, err := status.ReadManager(ctx, consumer)
	if err != nil || seen == nil {
		return err
	}
	v.Manager = &manager{Manager: *seen}
	if seen.Outside != "" {
		return nil // A Deployment that was stopped says nothing about it.
	}
	deployment := &appsv1.Deployment{}
	if err := consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.Manager}, deployment); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Deployment %s: %w", config.Manager, err)
	}
	v.Manager.Image = image(deployment.Spec.Template.Spec.Containers)
	return nil
}

// image returns the image of the manager's container; others may add containers of their own.
func image(containers []corev1.Container) string {
	for i := range containers {
		if containers[i].Name == container {
			return containers[i].Image
		}
	}
	return ""
}

// container is the name of the manager's container.
const container = "manager"

// text returns the versions for people, or that of the plugin only.
func (v *versions) text(clientOnly bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, "plugin: "+v.Plugin)
	if clientOnly {
		return b.String()
	}
	fmt.Fprintln(&b, "Kubernetes: v"+v.Kubernetes)
	switch m := v.Manager; {
	case m == nil:
		fmt.Fprintln(&b, "manager: unknown: you may not read "+status.ManagerParts)
	case m.Outside != "":
		fmt.Fprintln(&b, "manager: unknown: it runs outside of this cluster, as "+m.Outside+"; its program says so with --version")
	case m.Image == "":
		fmt.Fprintln(&b, "manager: none: "+m.Message)
	case !m.Available:
		fmt.Fprintln(&b, "manager: "+m.Image+", not available: "+m.Message)
	default:
		fmt.Fprintln(&b, "manager: "+m.Image)
	}
	return b.String()
}
