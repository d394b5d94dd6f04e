// Package cli has what the commands of kubectl spillway share: clusters, flags and output.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// Factory creates clients from kubectl's flags, which are for the consumer.
type Factory struct {
	*genericclioptions.ConfigFlags
	genericiooptions.IOStreams
	// Version is the version of the plugin, such as v0.1.0.
	Version string
}

// Consumer connects to the cluster of kubectl's flags.
func (f *Factory) Consumer() (*Cluster, error) {
	if name := ptr.Deref(f.Context, ""); name != "" {
		raw, err := f.ToRawKubeConfigLoader().RawConfig()
		if err == nil && raw.Contexts[name] == nil {
			return nil, fmt.Errorf("there is no context %q; existing ones: %s", name, f.contexts(ProviderFlags{}))
		}
	}
	config, err := f.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the consumer: %w", err)
	}
	return Connect(config, "the consumer", f.userAgent())
}

// Where describes the consumer by its context and its address.
func (f *Factory) Where(consumer *Cluster) string {
	name := ptr.Deref(f.Context, "")
	if raw, err := f.ToRawKubeConfigLoader().RawConfig(); err == nil {
		name = cmp.Or(name, raw.CurrentContext)
	}
	return "context " + cmp.Or(name, "none") + " (" + consumer.Config.Host + ")"
}

func (f *Factory) userAgent() string { return Owner + "/" + cmp.Or(f.Version, "dev") }

// ProviderFlags say how the administrator of a provider reaches it.
type ProviderFlags struct {
	// Context and Kubeconfig are for the provider's administrator.
	Context, Kubeconfig string
}

// AddTo adds the flags.
func (p *ProviderFlags) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&p.Context, "provider-context", "", "kubeconfig context of the provider's administrator")
	flags.StringVar(&p.Kubeconfig, "provider-kubeconfig", "", "kubeconfig with that context, if not the consumer's")
}

// Given reports whether the flags name a provider.
func (p *ProviderFlags) Given() bool { return p.Context != "" || p.Kubeconfig != "" }

// Provider is a provider with its client and its address.
type Provider struct {
	*Cluster
	// Endpoint has the address of the API server and its authority.
	Endpoint clientcmdapi.Cluster
}

// Provider connects to the provider of the flags.
func (f *Factory) Provider(flags ProviderFlags) (*Provider, error) {
	if !flags.Given() {
		return nil, fmt.Errorf("which provider? Set --provider-context, or --provider-kubeconfig; existing contexts: %s", f.contexts(flags))
	}
	loader := f.loader(flags)
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the provider: %w", err)
	}
	name := cmp.Or(flags.Context, raw.CurrentContext)
	if raw.Contexts[name] == nil {
		return nil, fmt.Errorf("there is no context %q; existing ones: %s", name, f.contexts(flags))
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the provider: %w", err)
	}
	cluster, err := Connect(config, "the provider (context "+name+")", f.userAgent())
	if err != nil {
		return nil, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("reading the certificates of the provider: %w", err)
	}
	return &Provider{Cluster: cluster, Endpoint: clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
	}}, nil
}

func (f *Factory) loader(flags ProviderFlags) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = flags.Kubeconfig
	if flags.Kubeconfig == "" {
		rules.ExplicitPath = ptr.Deref(f.KubeConfig, "")
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: flags.Context})
}

func (f *Factory) contexts(flags ProviderFlags) string {
	raw, err := f.loader(flags).RawConfig()
	if err != nil || len(raw.Contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
}

// CompleteContexts completes --provider-context.
func (f *Factory) CompleteContexts(flags *ProviderFlags) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := f.loader(*flags).RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}
}

// Loopback reports whether the address of an API server is the local machine.
func Loopback(server string) bool {
	parsed, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return parsed.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// Run has the flags of each command that changes something or waits.
type Run struct {
	DryRun  bool
	Timeout time.Duration
	Format  string
}

// AddTo adds the flags.
func (r *Run) AddTo(flags *pflag.FlagSet) {
	flags.BoolVar(&r.DryRun, "dry-run", false, "change nothing; print what would change")
	flags.DurationVar(&r.Timeout, "timeout", r.Timeout, "how long to wait; run the command again to continue")
	AddFormat(flags, &r.Format)
}

// CheckFormat returns an error if the value of -o is not known.
func CheckFormat(format string) error {
	if format != "" && format != "json" && format != "yaml" {
		return fmt.Errorf("-o %s: must be json or yaml", format)
	}
	return nil
}

// AddFormat adds the flag -o.
func AddFormat(flags *pflag.FlagSet, format *string) {
	flags.StringVarP(format, "output", "o", "", "json or yaml: print the result in that format; progress then goes to standard error")
}

// Do is what a command does in the consumer. ctx ends after --timeout.
type Do func(ctx context.Context, consumer *Cluster, output *Output, args []string) error

// RunE runs a command with these flags, and prints what it has done.
func (r *Run) RunE(f *Factory, do Do) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		output, err := NewOutput(f, command.Name(), r.Format, r.DryRun)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(command.Context(), r.Timeout, ErrTime)
		defer cancel()
		consumer, err := f.Consumer()
		if err == nil {
			err = do(ctx, consumer, output, args)
		}
		return output.End(f, err)
	}
}
