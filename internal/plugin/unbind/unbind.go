// Package unbind is kubectl spillway unbind: it drains a provider, and deletes its binding.
package unbind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/objects"
	"github.com/spillway-io/spillway/internal/precondition"
)

type options struct {
	cli.Run
	provider cli.ProviderFlags
}

// Command is unbind.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{Run: cli.Run{Timeout: 10 * time.Minute}}
	command := &cobra.Command{
		Use:   "unbind NAME",
		Short: "Drain a provider, and delete its binding",
		Long: `Deletes a ClusterBinding, and waits while its pods leave, its remote namespaces are deleted with everything in them, and
its node goes; then deletes the Secret, if kubectl spillway bind has made it. Pods without a controller are gone for good. It warns of pods that wait for that node alone.

What bind has made in the provider stays, since another consumer may use it, unless you give --provider-context. Then its access
ends: the account and its roles are deleted, if no consumer has anything there any more. That needs the binding, which knows
which cluster it leads to, and no other binding may lead to the same. The limits and the policies stay. They concern nobody
but consumers, and an API server that has lost its last policy with limits knows none again before it is restarted
(https://github.com/kubernetes/kubernetes/issues/130887), so that it could not be bound again.`,
		Example: `  kubectl spillway unbind eu

  # And end the access to the provider
  kubectl spillway unbind eu --provider-context eu`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, args []string) error {
		return o.run(ctx, f, consumer, output, args[0])
	})
	o.AddTo(command.Flags())
	o.provider.AddTo(command.Flags())
	_ = command.RegisterFlagCompletionFunc("provider-context", f.CompleteContexts(&o.provider)) // It fails only if there is no such flag.
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output, name string) error {
	binding := &v1alpha1.ClusterBinding{}
	err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		output.Say("there is no ClusterBinding %s", name)
		binding = nil
	} else if err != nil {
		return fmt.Errorf("reading ClusterBinding %s: %w", name, err)
	} else if err := Hosted(binding); err != nil {
		return err
	}
	var provider *cli.Provider
	if o.provider.Given() {
		if provider, err = o.open(ctx, f, consumer, name); err != nil {
			return err
		}
	}
	if binding != nil {
		warn(ctx, consumer, output, binding)
		if o.DryRun {
			output.Did(cli.Step{Cluster: "consumer", Object: "clusterbinding.offloading.spillway.io/" + name, Action: "deleted"})
		} else if err := Binding(ctx, consumer, output, name, ""); err != nil {
			return err
		}
	}
	if err := o.secret(ctx, consumer, output, name, binding); err != nil {
		return err
	}
	if provider == nil {
		return nil
	}
	return o.clean(ctx, provider.Cluster, output)
}

// byHand is what is left to do where the provider of a binding is not known any more.
const byHand = "the access to it ends with: kubectl delete clusterrolebinding,serviceaccount " + config.ProviderAccount + " -n " + config.ProviderNamespace + ", in it"

// open connects to the provider, which must be that of the binding, and of no other.
func (o *options) open(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, name string) (*cli.Provider, error) {
	provider, err := f.Provider(o.provider)
	if err != nil {
		return nil, err
	}
	uid, err := provider.UID(ctx)
	if err != nil {
		return nil, err
	}
	bindings := &v1alpha1.ClusterBindingList{}
	if err := consumer.List(ctx, bindings); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("reading the ClusterBindings: %w", err)
	}
	return provider, mayClean(name, uid, provider.Name, bindings.Items)
}

// mayClean fails if it is not sure that the access to a provider is that of the binding alone.
func mayClean(name, uid, provider string, bindings []v1alpha1.ClusterBinding) error {
	known := ""
	for i := range bindings {
		switch binding := &bindings[i]; {
		case binding.Name == name:
			known = binding.Status.RemoteClusterUID
		case binding.Status.RemoteClusterUID == uid:
			return fmt.Errorf("ClusterBinding %s leads to %s, too, and needs the access to it: leave --provider-context out", binding.Name, provider)
		}
	}
	switch known {
	case uid:
		return nil
	case "":
		return fmt.Errorf("that %s is the provider of %s is not known: there is no such ClusterBinding, or it was never connected. Unbind without --provider-context; "+
			"if no other consumer uses that cluster, %s", provider, name, byHand)
	default:
		return fmt.Errorf("%s is not the provider of the binding: give the context of that one, or none", provider)
	}
}

// secret deletes the Secret that bind has made, unless another binding uses it.
func (o *options) secret(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string, binding *v1alpha1.ClusterBinding) error {
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = config.Namespace, cli.SecretName(name)
	if binding != nil {
		secret.Name = binding.Spec.KubeconfigSecretRef.Name
	}
	err := consumer.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	step := cli.Step{Cluster: "consumer", Object: "secret/" + secret.Name, Namespace: secret.Namespace, Action: "deleted"}
	others := &v1alpha1.ClusterBindingList{}
	if err := consumer.List(ctx, others); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("reading the ClusterBindings: %w", err)
	}
	used := ""
	for i := range others.Items {
		if other := &others.Items[i]; other.Name != name && other.Spec.KubeconfigSecretRef.Name == secret.Name {
			used = other.Name
		}
	}
	switch {
	case used != "":
		step.Action, step.Message = "kept", "ClusterBinding "+used+" uses it, too"
	case !cli.Made(secret):
		step.Action, step.Message = "kept", "it was not made by kubectl spillway; it may have credentials in it that are still valid"
	case !o.DryRun:
		if err := client.IgnoreNotFound(consumer.Delete(ctx, secret, precondition.Exactly(secret))); err != nil {
			return fmt.Errorf("deleting Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
	}
	output.Did(step)
	return nil
}

// clean deletes what bind has made in the provider, if nobody uses it any more.
func (o *options) clean(ctx context.Context, provider *cli.Cluster, output *cli.Output) error {
	used, err := Used(ctx, provider)
	if err != nil {
		return err
	}
	if len(used) > 0 && !o.DryRun {
		return fmt.Errorf("the account in %s is kept, because there is still something of a consumer: %s; when that is gone, %s", provider.Name, strings.Join(used, ", "), byHand)
	}
	all, err := config.Objects("provider")
	if err != nil {
		return err
	}
	writer := &objects.Writer{Cluster: provider, Side: "provider", Output: output, DryRun: o.DryRun}
	if err := writer.Delete(ctx, Access(all)); err != nil {
		return err
	}
	output.Say("the limits and the policies of consumers stay in %s; see --help", provider.Name)
	return nil
}

// Access are those of a provider's objects that give a consumer access, in order. What confines
// it is not among them.
func Access(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(account.InOrder(all), func(object *unstructured.Unstructured) bool {
		return object.GetKind() != "ServiceAccount" && object.GroupVersionKind().Group != rbacv1.GroupName
	})
}

// Used names what consumers have in a provider: their namespaces, and the Leases of their
// managers.
func Used(ctx context.Context, provider client.Client) ([]string, error) {
	marked := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}
	namespaces, leases := &corev1.NamespaceList{}, &coordinationv1.LeaseList{}
	if err := provider.List(ctx, namespaces, marked); err != nil {
		return nil, fmt.Errorf("reading the namespaces of consumers in the provider: %w", err)
	}
	if err := provider.List(ctx, leases, client.InNamespace(config.ProviderNamespace)); err != nil {
		return nil, fmt.Errorf("reading the Leases of consumers in the provider: %w", err)
	}
	var used []string
	for i := range namespaces.Items {
		used = append(used, "Namespace "+namespaces.Items[i].Name)
	}
	for i := range leases.Items {
		used = append(used, "Lease "+leases.Items[i].Name)
	}
	return used, nil
}
