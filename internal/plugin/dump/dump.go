// Package dump is kubectl spillway dump: it gathers what a maintainer asks for in one file, without credentials.
package dump

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

type options struct {
	file     string
	logs     bool
	provider cli.ProviderFlags
}

// Command returns the command dump.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "dump",
		Short: "Gather what a maintainer asks for in one file, without credentials",
		Long: `Writes versions, what doctor and status say, Spillway's objects, the pods of offloaded namespaces and what belongs to
them, events, and the manager's logs to one archive. It changes nothing in the cluster. -n takes one namespace only.

No Secret and no ConfigMap of a team is read. Values of environment variables, commands, arguments, probes, and annotations
of others are left out. What looks like a credential in a message or in a log is replaced. Names of namespaces, pods,
nodes and images are in it: read it before you send it to somebody.`,
		Example: `  kubectl spillway dump
  kubectl spillway dump -n team-a --file team-a.tar.gz

  # With the provider's nodes, limits, pods and events
  kubectl spillway dump --provider-context eu`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), f) },
	}
	command.Flags().StringVar(&o.file, "file", "", "the archive to write; it must not exist (default spillway-dump-TIME.tar.gz)")
	command.Flags().BoolVar(&o.logs, "logs", true, "with the manager's logs")
	o.provider.AddTo(command.Flags())
	_ = command.RegisterFlagCompletionFunc("provider-context", f.CompleteContexts(&o.provider))
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory) error {
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	namespace := ptr.Deref(f.Namespace, "")
	if err := status.Known(ctx, consumer, namespace); err != nil {
		return err
	}
	var provider *cli.Provider
	if o.provider.Given() {
		if provider, err = f.Provider(o.provider); err != nil {
			return err
		}
	}
	now := time.Now().UTC()
	if o.file == "" {
		o.file = "spillway-dump-" + now.Format("20060102-150405") + ".tar.gz"
	}
	out, err := os.OpenFile(filepath.Clean(o.file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	defer func() { _ = out.Close() }()
	a := newArchive(out, now)
	a.add("versions.txt", versions(f, consumer, provider))
	say(ctx, a, consumer, namespace)
	c := &collector{archive: a, cluster: consumer, namespace: namespace}
	c.consumer(ctx)
	if o.logs {
		c.logs(ctx)
	}
	if provider != nil {
		p := &collector{archive: a, cluster: provider.Cluster, namespace: namespace, below: "provider/"}
		if origin, err := consumer.UID(ctx); err != nil {
			a.problem("the provider: " + err.Error())
		} else {
			p.provider(ctx, origin)
		}
	}
	if err := a.end(); err != nil {
		_ = os.Remove(o.file)
		return fmt.Errorf("writing %s: %w", o.file, err)
	}
	for _, problem := range a.problems {
		_, _ = fmt.Fprintln(f.ErrOut, "warning: "+problem)
	}
	_, err = fmt.Fprintf(f.Out, "%s: %d files. It has names of namespaces, pods, nodes and images: read it before you send it\n", o.file, a.files)
	return err
}

func versions(f *cli.Factory, consumer *cli.Cluster, provider *cli.Provider) string {
	lines := []string{"kubectl-spillway " + f.Version}
	clusters := []*cli.Cluster{consumer}
	if provider != nil {
		clusters = append(clusters, provider.Cluster)
	}
	for _, cluster := range clusters {
		found, err := cluster.Version()
		if err != nil {
			lines = append(lines, cluster.Name+": "+err.Error())
			continue
		}
		lines = append(lines, cluster.Name+": Kubernetes "+found.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

// say adds what the other commands say.
func say(ctx context.Context, a *archive, consumer *cli.Cluster, namespace string) {
	if seen, err := status.Read(ctx, consumer, namespace); err != nil {
		a.problem("status: " + err.Error())
	} else {
		a.add("status.txt", status.Text(status.Tree(seen), true))
	}
	if namespace != "" {
		return // doctor is about the whole cluster.
	}
	if findings, err := doctor.Examine(ctx, consumer); err != nil {
		a.problem("doctor: " + err.Error())
	} else {
		a.add("doctor.txt", doctor.Text(findings, true))
	}
}
