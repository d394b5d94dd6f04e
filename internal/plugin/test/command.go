// Package test is kubectl spillway test: it runs a pod and what belongs to it in each provider, tests what users need,
// and says for each failure what the cause is and what to do.
package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/bind"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

// Image is the default image of the test's pod. It needs a shell, httpd and wget.
const Image = "docker.io/library/busybox:1.37"

type options struct {
	format, junit, image string
	keep                 bool
	timeout              time.Duration
	runAsUser            int64
}

// examination is how long the checks of doctor may take.
const examination = time.Minute

// Command returns the command test.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "test [NAME...]",
		Short: "Test in each provider what pods and their users need",
		Long: `Runs the checks of kubectl spillway doctor. Then it creates a namespace of its own for each provider, offloads it there, and
tests a pod, its status, logs, exec, port-forward, a ConfigMap, a Service, DNS, a NetworkPolicy, a claim, and that
everything is deleted in the provider. Each step has a line: ✓ works, ✗ fails, ! is a warning, – was skipped, with the reason. A
failure has its cause and a fix. Without names it tests the providers of all ClusterBindings, up to four at a time.

Afterwards it deletes the namespaces, also after a failure and after Ctrl-C. The exit code is 1 if a step failed.`,
		Example: `  kubectl spillway test
  kubectl spillway test eu us --junit report.xml

  # From a registry of your own; keep the namespaces to look at them
  kubectl spillway test eu --image registry.example.com/busybox:1.37 --keep`,
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, args []string) error { return o.run(command.Context(), f, args) },
	}
	flags := command.Flags()
	cli.AddFormat(flags, &o.format)
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long the test of a provider may take, with the time in which it pulls the image or starts a node; a third of it is for deleting what the test has created")
	flags.StringVar(&o.junit, "junit", "", "write the results to this file, in the format of JUnit")
	flags.StringVar(&o.image, "image", Image, "the image of the pod, with a shell, httpd and wget, such as busybox")
	flags.Int64Var(&o.runAsUser, "run-as-user", nobody, "the user ID of the pod; -1 leaves it to the image and the provider, which a provider with OpenShift gets by itself")
	flags.BoolVar(&o.keep, "keep", false, "do not delete the namespaces of the test")
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory, names []string) error {
	if err := cli.CheckFormat(o.format); err != nil {
		return err
	}
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	if err := bind.Installed(consumer); err != nil {
		return err
	}
	if err := consumer.Require(ctx, rights()); err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(consumer.Config)
	if err != nil {
		return err
	}
	chosen, err := chosen(ctx, consumer, names)
	if err != nil {
		return err
	}
	to := f.Out
	if o.format != "" {
		to = f.ErrOut
	}
	p := &printer{to: to}
	if err := p.leftovers(ctx, consumer); err != nil {
		return err
	}
	begun := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, min(o.timeout, examination), cli.ErrTime)
	defer cancel()
	findings, err := doctor.Examine(limited, consumer)
	if err != nil {
		return err
	}
	examined := time.Since(begun)
	reports := make([]Report, len(chosen))
	const atATime = 4
	var group sync.WaitGroup
	places := make(chan struct{}, atATime)
	for i := range chosen {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t := &tester{options: o, consumer: consumer, clients: clients, binding: &chosen[i], printer: p}
			reports[i] = t.test(ctx, findings, examined)
		})
	}
	group.Wait()
	return errors.Join(o.write(f, reports), verdict(reports))
}

// write writes the reports in the formats of the flags.
func (o *options) write(f *cli.Factory, reports []Report) error {
	var errs []error
	if o.format != "" {
		errs = append(errs, cli.Print(f.Out, o.format, reports))
	}
	if o.junit != "" {
		content, err := junit(reports)
		if err == nil {
			err = os.WriteFile(filepath.Clean(o.junit), content, 0o600)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--junit: %w", err))
		}
	}
	return errors.Join(errs...)
}

// chosen returns the bindings with these names, or all.
func chosen(ctx context.Context, consumer *cli.Cluster, names []string) ([]v1alpha1.ClusterBinding, error) {
	list := &v1alpha1.ClusterBindingList{}
	if err := consumer.List(ctx, list); err != nil {
		return nil, fmt.Errorf("reading the ClusterBindings: %w", err)
	}
	existing := make([]string, len(list.Items))
	for i := range list.Items {
		existing[i] = list.Items[i].Name
	}
	for _, name := range names {
		if !slices.Contains(existing, name) {
			return nil, cli.NoBinding(name, existing)
		}
	}
	if len(existing) == 0 {
		return nil, errors.New("no provider is bound: kubectl spillway bind NAME --provider-context CONTEXT")
	}
	return slices.DeleteFunc(list.Items, func(b v1alpha1.ClusterBinding) bool { return len(names) > 0 && !slices.Contains(names, b.Name) }), nil
}

// rights returns the rights in the consumer without which the test is not possible.
func rights() []cli.Right {
	needed := []cli.Right{
		{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "clusterbindings"},
		{Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: "namespaceoffloadings"},
		{Verb: "create", Group: "networking.k8s.io", Resource: "networkpolicies"},
		{Verb: "get", Resource: "pods", Subresource: "log"},
		{Verb: "create", Resource: "pods", Subresource: "exec"},
		{Verb: "create", Resource: "pods", Subresource: "portforward"},
	}
	for _, verb := range []string{"create", "list", "watch", "delete"} {
		needed = append(needed, cli.Right{Verb: verb, Resource: "namespaces"})
	}
	for _, resource := range []string{"pods", "services", "configmaps"} {
		needed = append(needed, cli.Right{Verb: "create", Resource: resource})
	}
	return needed
}

// printer prints lines of several providers at once.
type printer struct {
	mu sync.Mutex
	to io.Writer
}

func (p *printer) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.to, format+"\n", args...)
}

// step prints a step of a provider.
func (p *printer) step(provider string, s Step) {
	p.line("%s", strings.TrimSuffix(s.text(provider), "\n"))
}

// leftovers names the namespaces of earlier runs.
func (p *printer) leftovers(ctx context.Context, consumer *cli.Cluster) error {
	list := &corev1.NamespaceList{}
	if err := consumer.List(ctx, list, client.MatchingLabels{cli.LabelManagedBy: cli.Owner}); err != nil {
		return fmt.Errorf("reading the namespaces of earlier tests: %w", err)
	}
	for i := range list.Items {
		if namespace := &list.Items[i]; strings.HasPrefix(namespace.Name, prefix) && namespace.DeletionTimestamp.IsZero() {
			p.line("namespace %s is left from another test: it still runs, had --keep, or was killed; to delete it: kubectl delete namespace %s", namespace.Name, namespace.Name)
		}
	}
	return nil
}
