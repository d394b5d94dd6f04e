// Package rotate is kubectl spillway rotate: it renews the token of a binding.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/bind"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

type options struct {
	cli.Run
	provider cli.ProviderFlags
	lifetime time.Duration
}

// Command returns the command rotate.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{Run: cli.Run{Timeout: time.Minute}}
	command := &cobra.Command{
		Use:   "rotate NAME --provider-context CONTEXT",
		Short: "Renew the token of a binding",
		Long: `Requests a new token from the provider for the account of the token in the binding's Secret, and replaces the
old one; the address and the authority stay. It leaves client certificates alone, and tokens of anything but a consumer's ServiceAccount. Then it waits until the manager uses the new token. Pods are not affected. The old token stays valid until it expires.`,
		Example: `  kubectl spillway rotate eu --provider-context eu

  # Once a day, by a job
  kubectl spillway rotate eu --provider-context eu --duration 240h`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		return o.run(ctx, f, consumer, output, args[0])
	})
	o.AddTo(command.Flags())
	o.provider.AddTo(command.Flags())
	command.Flags().DurationVar(&o.lifetime, "duration", bind.DefaultLifetime, "lifetime of the token; the API server may grant less")
	_ = command.RegisterFlagCompletionFunc("provider-context", f.CompleteContexts(&o.provider)) // It fails only if the flag does not exist.
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output, name string) error {
	if err := bind.CheckLifetime(o.lifetime); err != nil {
		return err
	}
	provider, err := f.Provider(o.provider)
	if err != nil {
		return err
	}
	binding, secret, err := o.read(ctx, consumer, provider, name)
	if err != nil {
		return err
	}
	key := binding.Spec.KubeconfigSecretRef.Key
	account, err := bind.Account(secret, key)
	if err == nil {
		err = provider.Require(ctx, []cli.Right{{
			Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: config.ProviderNamespace, Name: account,
		}})
	}
	if err != nil {
		return err
	}
	step := cli.Step{Cluster: "consumer", Object: "secret/" + secret.Name, Namespace: secret.Namespace, Action: "configured"}
	if o.DryRun {
		output.Did(step)
		return nil
	}
	at := provider.Endpoint
	if there, err := kubeconfig.Load(secret.Data[key]); err == nil {
		at = clientcmdapi.Cluster{Server: there.Host, CertificateAuthorityData: there.CAData, TLSServerName: there.ServerName}
	}
	credentials, err := bind.Ask(ctx, provider.Cluster, at, account, o.lifetime)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w; to recreate the account: kubectl spillway bind %s --provider-context CONTEXT", err, name)
	}
	if err != nil {
		return err
	}
	before := secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[key] = credentials.Document
	if err := consumer.Patch(ctx, secret, precondition.Locked(before), client.FieldOwner(cli.Owner)); err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	step.Message = "the new token is valid until " + credentials.Expires.UTC().Format(time.RFC3339)
	output.Did(step)
	return o.await(ctx, consumer, output, name, credentials.Expires)
}

// read returns the binding and its Secret. It fails if the provider is not the cluster of the binding.
func (o *options) read(ctx context.Context, consumer *cli.Cluster, provider *cli.Provider, name string) (*v1alpha1.ClusterBinding, *corev1.Secret, error) {
	if err := bind.Installed(consumer); err != nil {
		return nil, nil, err
	}
	err := consumer.Require(ctx, []cli.Right{
		{Verb: "get", Group: v1alpha1.GroupVersion.Group, Resource: "clusterbindings"},
		{Verb: "get", Resource: "secrets", Namespace: config.Namespace}, {Verb: "patch", Resource: "secrets", Namespace: config.Namespace},
	})
	if err != nil {
		return nil, nil, err
	}
	binding, err := consumer.Binding(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	secret := &corev1.Secret{}
	uid, err := provider.UID(ctx)
	if err != nil {
		return nil, nil, err
	}
	if pinned := binding.Status.RemoteClusterUID; pinned != "" && pinned != uid {
		return nil, nil, fmt.Errorf("ClusterBinding %s is for a cluster other than %s: use the context of that cluster", name, provider.Name)
	}
	ref := client.ObjectKey{Namespace: config.Namespace, Name: binding.Spec.KubeconfigSecretRef.Name}
	if err := consumer.Get(ctx, ref, secret); err != nil {
		return nil, nil, fmt.Errorf("reading Secret %s, which kubectl spillway bind %s creates: %w", ref, name, err)
	}
	return binding, secret, nil
}

// await waits until the binding shows the new expiry. If the token lasts less than a day, the binding shows
// it only near its end, so await waits until the binding is Ready.
func (o *options) await(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string, expires time.Time) error {
	if time.Until(expires) < 25*time.Hour {
		return bind.Await(ctx, consumer, output, name)
	}
	watched := []follow.Watched{{List: &v1alpha1.ClusterBindingList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": name}}}}
	err := follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		binding := &v1alpha1.ClusterBinding{}
		if err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
			return false, follow.Again(fmt.Errorf("reading ClusterBinding %s: %w", name, err))
		}
		_, waits := bind.Progress(binding)
		output.Waiting(strings.TrimSuffix("the manager does not use the new token yet; "+waits, "; "))
		shown := binding.Status.CredentialsExpirationTime
		return shown != nil && shown.Sub(expires).Abs() < 2*time.Second, nil
	})
	if errors.Is(err, cli.ErrTime) {
		return fmt.Errorf("the Secret has the token, but the manager does not use it yet: %w; see kubectl spillway status", err)
	}
	if err != nil {
		return err
	}
	return bind.Await(ctx, consumer, output, name)
}
