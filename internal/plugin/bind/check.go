package bind

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/objects"
)

// check reads both clusters, and fails if the binding is not possible. It writes nothing.
func (w *work) check(ctx context.Context) error {
	if err := Installed(w.consumer); err != nil {
		return err
	}
	err := w.consumer.Require(ctx, inConsumer())
	if err == nil {
		err = w.provider.Require(ctx, InProvider(w.provider, w.manifests))
	}
	if err != nil {
		return err
	}
	w.seen = Seen{Wanted: w.wanted, Context: w.provider.Name}
	if w.seen.Consumer, err = w.consumer.UID(ctx); err != nil {
		return err
	}
	if w.seen.Provider, err = w.provider.UID(ctx); err != nil {
		return err
	}
	bindings := &v1alpha1.ClusterBindingList{}
	if err := w.consumer.List(ctx, bindings); err != nil {
		return fmt.Errorf("reading the ClusterBindings of the consumer: %w", err)
	}
	w.seen.Bindings = bindings.Items
	w.secretName, w.secret = cli.SecretName(w.wanted.Name), v1alpha1.DefaultKubeconfigKey
	if there := w.seen.there(); there != nil {
		w.secretName, w.secret = there.Spec.KubeconfigSecretRef.Name, there.Spec.KubeconfigSecretRef.Key
	}
	secret := &corev1.Secret{}
	err = w.consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: w.secretName}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s/%s in the consumer: %w", config.Namespace, w.secretName, err)
	}
	if err == nil {
		w.seen.Secret = secret
	}
	if err := Check(w.seen); err != nil {
		return err
	}
	if err := w.credentials(ctx); err != nil {
		return err
	}
	if err := w.wouldTake(ctx); err != nil {
		return err
	}
	if err := w.leaveOut(ctx); err != nil {
		return err
	}
	if err := w.checkProvider(ctx); err != nil {
		return err
	}
	w.warn()
	return nil
}

// credentials decides what happens to the Secret, and fails if it must not be written.
func (w *work) credentials(ctx context.Context) error {
	w.plan = w.seen.credentials(w.secret, w.provider.Endpoint, w.server, time.Now())
	if w.plan.keep {
		w.plan.keep = accepted(ctx, w.provider.Cluster, w.seen.Secret, w.secret, w.seen.Provider)
	}
	if err := w.seen.mayWrite(w.plan); err != nil || w.plan.keep || w.seen.Secret == nil {
		return err
	}
	var err error
	w.plan.account, err = Account(w.seen.Secret, w.secret)
	return err
}

// leaveOut removes from the manifests the rights that the provider's administrator has deleted.
func (w *work) leaveOut(ctx context.Context) error {
	due, err := account.Due(ctx, w.manifests, w.inProvider.Missing)
	if err != nil {
		return err
	}
	for _, object := range w.manifests {
		if !slices.Contains(due, object) {
			w.output.Did(cli.Step{
				Cluster: "provider", Object: objects.Name(object), Action: "skipped",
				Message: "the provider's administrator has deleted it; to restore it, apply it from the provider manifests",
			})
		}
	}
	w.manifests = due
	return nil
}

// Installed returns an error if Spillway is not installed in the consumer.
func Installed(consumer *cli.Cluster) error {
	served, err := consumer.Serves(v1alpha1.GroupVersion.WithKind("ClusterBinding"))
	if err == nil && !served {
		err = fmt.Errorf("Spillway is not installed in %s: run kubectl spillway install", consumer.Name)
	}
	return err
}

// identity is the right to read the UID of a cluster.
var identity = cli.Right{Verb: "get", Resource: "namespaces", Name: metav1.NamespaceSystem}

func inConsumer() []cli.Right {
	rights := []cli.Right{identity}
	for _, verb := range []string{"get", "list", "watch", "create", "patch"} {
		rights = append(rights, cli.Right{Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: "clusterbindings"})
	}
	for _, verb := range []string{"get", "create", "patch"} {
		rights = append(rights, cli.Right{Verb: verb, Resource: "secrets", Namespace: config.Namespace})
	}
	return rights
}

// InProvider returns the rights of the provider's administrator that bind needs.
func InProvider(provider *cli.Provider, manifests []*unstructured.Unstructured) []cli.Right {
	asked := make([]client.Object, len(manifests))
	for i, object := range manifests {
		asked[i] = object
	}
	return append(provider.ToApply(asked...), identity, cli.Right{
		Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: config.ProviderNamespace, Name: config.ProviderAccount,
	})
}

// checkProvider checks the version of the provider, and, with a dry run, whether you may grant the roles.
func (w *work) checkProvider(ctx context.Context) error {
	found, err := w.provider.Version()
	if err != nil {
		return err
	}
	if found.LessThan(Oldest) {
		return fmt.Errorf("%s has Kubernetes %s, which is too old: the policies that confine the consumer need %d.%d or newer",
			w.provider.Name, found, Oldest.Major(), Oldest.Minor())
	}
	for _, object := range w.manifests {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		options := []client.ApplyOption{client.DryRunAll, client.ForceOwnership, client.FieldOwner(cli.Owner)}
		if err := w.provider.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), options...); err != nil {
			return fmt.Errorf("you cannot grant ClusterRole %s in %s: %w", object.GetName(), w.provider.Name, err)
		}
	}
	return nil
}

func (w *work) warn() {
	if cli.Loopback(w.plan.at.Server) {
		w.output.Warn("%s is a loopback address: the manager reaches the provider only if it runs on this machine. Set another address with --provider-server", w.plan.at.Server)
	}
	for _, name := range Shared(w.seen) {
		w.output.Warn("ClusterBinding %s uses the same provider; the younger of the two offers the remaining capacity", name)
	}
}
