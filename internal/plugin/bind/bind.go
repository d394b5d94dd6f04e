// Package bind is kubectl spillway bind: it makes a cluster a provider of this one, and nobody has to copy
// anything between the two.
package bind

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/objects"
)

// Oldest is the oldest Kubernetes of a provider: the first with ValidatingAdmissionPolicy v1.
var Oldest = version.MustParseGeneric("v1.30.0")

// DefaultLifetime is the lifetime of a token, if the API server grants it.
const DefaultLifetime = 30 * 24 * time.Hour

type options struct {
	cli.Run
	provider  cli.ProviderFlags
	inventory profileFlags
	// server is the address at which the consumer reaches the provider.
	server string
	// profile is that of the limits. asked is the same if the flag was given, and otherwise empty.
	profile, asked   string
	lifetime         time.Duration
	labels, capacity []string
	wanted           Wanted
	undo             bool
	force            bool
}

// Command returns the command bind.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{Run: cli.Run{Timeout: 2 * time.Minute}}
	command := &cobra.Command{
		Use:   "bind NAME --provider-context CONTEXT",
		Short: "Make another cluster a provider of this one",
		Long: `Makes another cluster a provider of this one, the consumer. In the provider, as its administrator, it
creates the consumer's account, roles, policies and limits, and requests a token.
In the consumer it stores the token in a Secret, creates a ClusterBinding, and waits until that is Ready.

Before it writes anything, it checks both clusters and your rights in them. It can be run again: limits
that the provider's administrator has changed are kept, deleted rights to logs, exec and metrics stay deleted, and a token with
more than half of its lifetime left is kept, with the address in its Secret. A Secret that somebody else created is not overwritten.`,
		Example: `  # Bind the cluster of context eu
  kubectl spillway bind eu --provider-context eu

  # Its administrator trusts the teams of this cluster
  kubectl spillway bind eu --provider-context eu --profile trusted

  # Bind a cluster of an inventory, with a credential plugin on this machine
  kubectl spillway bind eu --cluster-profile fleet/eu --clusterprofile-provider-file plugins.json

  # The consumer reaches it at another address than you do; at most half of it is used
  kubectl spillway bind eu --provider-context eu --provider-server https://10.0.0.5:6443 \
    --label topology.kubernetes.io/region=eu --capacity cpu=50%,memory=50%`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		o.wanted.Name = args[0]
		if command.Flags().Changed("profile") {
			o.asked = o.profile
		}
		return o.run(ctx, f, consumer, output)
	})
	flags := command.Flags()
	o.AddTo(flags)
	o.provider.AddTo(flags)
	flags.StringVar(&o.inventory.profile, "cluster-profile", "", "ClusterProfile in this cluster that names the provider, as NAMESPACE/NAME, instead of --provider-context")
	flags.StringVar(&o.inventory.file, "clusterprofile-provider-file", "", "file with the credential plugins of this machine, for --cluster-profile")
	flags.StringVar(&o.server, "provider-server", "", "address at which the consumer reaches the provider's API server (default: the one in the existing Secret, or that of your kubeconfig)")
	flags.StringVar(&o.profile, "profile", DefaultProfile, "limits of the consumer, if the provider has none yet: "+strings.Join(Profiles(), " or "))
	flags.StringVar(&o.wanted.ClusterID, "cluster-id", "", "name of the provider in labels and in the name of its node (default NAME)")
	flags.StringSliceVar(&o.labels, "label", nil, "labels of the virtual node, as KEY=VALUE")
	flags.StringSliceVar(&o.capacity, "capacity", nil, "limits of what the virtual node offers, as cpu=50% or memory=64Gi")
	flags.DurationVar(&o.lifetime, "duration", DefaultLifetime, "lifetime of the token; the API server may grant less")
	flags.BoolVar(&o.undo, "undo-on-failure", false, "on failure, delete what this run created")
	flags.BoolVar(&o.force, "force-conflicts", false, "take over fields in the provider from other field managers, such as kubectl")
	_ = command.RegisterFlagCompletionFunc("provider-context", f.CompleteContexts(&o.provider)) // It fails only if the flag does not exist.
	_ = command.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(Profiles(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// work is the state of one run.
type work struct {
	*options
	consumer           *cli.Cluster
	provider           *cli.Provider
	output             *cli.Output
	seen               Seen
	plan               plan
	manifests          []*unstructured.Unstructured
	inConsumer         *objects.Writer
	inProvider         *objects.Writer
	secretName, secret string // secret is the key in the Secret.
	made               made
}

// made has the UIDs of what this run has created in the consumer.
type made struct {
	binding, secret types.UID
}

func (o *options) run(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output) (err error) {
	w, err := o.prepare(ctx, f, consumer, output)
	if err != nil {
		return err
	}
	if err := w.check(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil && o.undo && !o.DryRun {
			err = errors.Join(err, w.takeBack(context.WithoutCancel(ctx)))
		}
	}()
	for _, object := range w.manifests {
		if err := w.inProvider.Apply(ctx, object); err != nil {
			return err
		}
	}
	secret, err := w.handOver(ctx)
	if err != nil {
		return err
	}
	if err := w.bind(ctx); err != nil || o.DryRun {
		return err
	}
	w.confines(ctx, secret.Data[w.secret])
	if err := Await(ctx, w.consumer, output, o.wanted.Name); err != nil {
		return err
	}
	output.Say("Next: kubectl spillway offload NAMESPACE")
	return nil
}

func (o *options) prepare(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output) (*work, error) {
	var err error
	if err := CheckLifetime(o.lifetime); err != nil {
		return nil, err
	}
	if o.wanted.Labels, err = pairs("label", o.labels); err != nil {
		return nil, err
	}
	if o.wanted.Capacity, err = pairs("capacity", o.capacity); err != nil {
		return nil, err
	}
	w := &work{options: o, consumer: consumer, output: output}
	if w.manifests, err = Manifests(o.profile); err != nil {
		return nil, err
	}
	if w.provider, err = o.theProvider(ctx, f, consumer); err != nil {
		return nil, err
	}
	w.inConsumer = &objects.Writer{Cluster: w.consumer, Side: "consumer", Output: output, DryRun: o.DryRun}
	w.inProvider = &objects.Writer{Cluster: w.provider.Cluster, Side: "provider", Output: output, DryRun: o.DryRun, Force: o.force, Profile: o.asked}
	return w, nil
}

// handOver puts credentials into the Secret of the binding, and returns it; nil in a dry run.
func (w *work) handOver(ctx context.Context) (*corev1.Secret, error) {
	step := cli.Step{Cluster: "consumer", Object: "secret/" + w.secretName, Namespace: config.Namespace, Action: "created"}
	if w.plan.keep {
		step.Action, step.Message = "unchanged", "its token is valid until "+w.plan.until.UTC().Format(time.RFC3339)
		w.output.Did(step)
		return w.seen.Secret, nil
	}
	if w.seen.Secret != nil {
		step.Action = "configured"
	}
	if w.DryRun {
		w.output.Did(step)
		return nil, nil
	}
	credentials, err := Ask(ctx, w.provider.Cluster, w.plan.at, w.plan.account, w.lifetime)
	if err != nil {
		return nil, err
	}
	secret := put(w.seen.Secret, w.secretName, w.secret, credentials.Document)
	if err := w.writeSecret(ctx, secret, false); err != nil {
		return nil, err
	}
	if w.seen.Secret == nil {
		w.made.secret = secret.UID
	}
	step.Message = "its token is valid until " + credentials.Expires.UTC().Format(time.RFC3339)
	w.output.Did(step)
	return secret, nil
}
