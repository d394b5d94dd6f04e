// Package plugin assembles the commands of kubectl spillway.
package plugin

import (
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/bind"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/drain"
	"github.com/spillway-io/spillway/internal/plugin/dump"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/hosted"
	"github.com/spillway-io/spillway/internal/plugin/install"
	"github.com/spillway-io/spillway/internal/plugin/offload"
	"github.com/spillway-io/spillway/internal/plugin/rotate"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/test"
	"github.com/spillway-io/spillway/internal/plugin/ui"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
	"github.com/spillway-io/spillway/internal/plugin/uninstall"
	pluginversion "github.com/spillway-io/spillway/internal/plugin/version"
)

// Command returns kubectl spillway.
func Command(version string, streams genericiooptions.IOStreams) *cobra.Command {
	streams.Out, streams.ErrOut = cli.Terminal(streams.Out), cli.Terminal(streams.ErrOut)
	f := &cli.Factory{ConfigFlags: genericclioptions.NewConfigFlags(true), IOStreams: streams, Version: version}
	root := &cobra.Command{
		Use:   "kubectl-spillway",
		Short: "Run pods of this cluster in other clusters",
		Long: `Runs pods of this cluster, the consumer, in other clusters, the providers.

  kubectl spillway install                              in the consumer
  kubectl spillway bind eu --provider-context eu        makes a cluster a provider
  kubectl spillway offload team-a                       lets pods of a namespace run there
  kubectl spillway status                               what runs where, and what waits
  kubectl spillway ui                                   the same in a browser, live
  kubectl spillway test                                 runs a pod in each provider, and tests what users need
  kubectl spillway doctor                               what is wrong, and how to fix it
  kubectl spillway dump                                 one file for a maintainer, without credentials

Each command can be run again: it continues where it stopped, and changes only what differs.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl spillway"},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	f.AddFlags(root.PersistentFlags())
	root.AddCommand(install.Command(f), bind.Command(f), offload.Command(f), offload.UndoCommand(f), unbind.Command(f), uninstall.Command(f),
		drain.Command(f), drain.UndoCommand(f),
		status.Command(f), explain.Command(f), test.Command(f), doctor.Command(f), dump.Command(f), rotate.Command(f), hosted.Command(f), ui.Command(f), pluginversion.Command(f))
	for _, command := range root.Commands() {
		cli.Named(command)
		switch command.Name() {
		case "bind", "rotate", "unbind", "drain", "uncordon", "test":
			command.ValidArgsFunction = f.CompleteNames(&v1alpha1.ClusterBindingList{})
		case "offload", "unoffload":
			command.ValidArgsFunction = f.CompleteNames(&corev1.NamespaceList{})
		case "explain":
			command.ValidArgsFunction = f.CompleteNames(&corev1.PodList{})
		}
	}
	return root
}
