package unbind

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

// remains are what the consumer has of a binding: everything, or what an earlier run has left.
type remains struct {
	name string
	// binding is nil once it is gone. secret is nil if there is none.
	binding *v1alpha1.ClusterBinding
	secret  *corev1.Secret
	// others are the existing bindings if this one does not exist; nil if they are not known.
	others []string
	// at says where the binding led, once that is known.
	at place
	// key is the name of the Secret. field is the key in it with the kubeconfig.
	key   client.ObjectKey
	field string
}

func read(ctx context.Context, consumer *cli.Cluster, name string) (*remains, error) {
	r := &remains{name: name, key: client.ObjectKey{Namespace: config.Namespace, Name: cli.SecretName(name)}, field: v1alpha1.DefaultKubeconfigKey}
	binding := &v1alpha1.ClusterBinding{}
	err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding)
	switch {
	case err == nil:
		if err := Hosted(binding); err != nil {
			return nil, err
		}
		r.binding, r.key.Name, r.field = binding, binding.Spec.KubeconfigSecretRef.Name, binding.Spec.KubeconfigSecretRef.Key
	case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return nil, fmt.Errorf("reading ClusterBinding %s: %w", name, err)
	default:
		r.others = consumer.Bindings(ctx)
	}
	secret := &corev1.Secret{}
	err = consumer.Get(ctx, r.key, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", r.key, err)
	}
	if err == nil {
		r.secret = secret
	}
	return r, nil
}

// missing says that there is no binding. An earlier run may have deleted it, which is no error. If there is nothing else to
// delete, the name may also be misspelt, so that this is a warning, which -o json has, too.
func (r *remains) missing(output *cli.Output, inProvider bool) {
	none := cli.NoBinding(r.name, r.others)
	if r.secret == nil && !inProvider {
		output.Warn("%v. Nothing was changed. An earlier run may have unbound it", none)
		return
	}
	output.Say("%v", none)
}

// unproven says that nothing in this cluster leads to the provider whose account is to be deleted; "" if
// something does, or if there is no account.
func (r *remains) unproven(ctx context.Context, provider *cli.Provider) (string, error) {
	if provider == nil || r.at != "" {
		return "", nil
	}
	key := client.ObjectKey{Namespace: config.ProviderNamespace, Name: config.ProviderAccount}
	err := provider.Get(ctx, key, &corev1.ServiceAccount{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading ServiceAccount %s in %s: %w", key, provider.Name, err)
	}
	return "this cluster does not record that " + r.name + " used " + provider.Name + ", and the account there may belong to another consumer", nil
}

// access is the account in a provider for which a Secret has a token; empty if that is not known.
type access struct {
	account, server string
	// authority is the certificate authority of the server.
	authority []byte
	// uid is the UID of the account. until is when the token expires.
	uid   types.UID
	until time.Time
}

func accessOf(secret *corev1.Secret, field string) access {
	if secret == nil {
		return access{}
	}
	loaded, err := kubeconfig.Load(secret.Data[field])
	if err != nil {
		return access{}
	}
	name, uid, err := account.Of(loaded.BearerToken)
	if err != nil {
		return access{}
	}
	_, _, until := kubeconfig.Validity(loaded)
	return access{account: name, server: loaded.Host, authority: bytes.TrimSpace(loaded.CAData), uid: uid, until: until}
}

// leadsTo reports whether the access is for a cluster: both have the same authority, or the same address.
func (a access) leadsTo(at clientcmdapi.Cluster) bool {
	return len(a.authority) > 0 && bytes.Equal(a.authority, bytes.TrimSpace(at.CertificateAuthorityData)) || a.server == at.Server && !cli.Loopback(at.Server)
}

// String implements fmt.Stringer.
func (a access) String() string {
	if a.account == "" {
		return "ServiceAccount " + config.ProviderNamespace + "/" + config.ProviderAccount + " in the provider, if it exists, with its roles and tokens"
	}
	text := "ServiceAccount " + config.ProviderNamespace + "/" + a.account + " in the provider at " + a.server + ", with its roles"
	if !a.until.IsZero() {
		text += " and a token that is valid until " + a.until.UTC().Format(time.RFC3339)
	}
	return text
}

// unfinished adds to an error what is left of a binding that is gone.
func (r *remains) unfinished(err error) error {
	left := accessOf(r.secret, r.field).String()
	if r.secret != nil {
		left = "Secret " + r.key.String() + " here, and " + left
	}
	return fmt.Errorf("%w; what is left of %s: %s", err, r.name, left)
}

// stays says what is left in the provider at the end; "" if nothing of bind is. If the binding is gone, an
// earlier run may have ended its access, too.
func (r *remains) stays(cleaned bool) string {
	access := accessOf(r.secret, r.field)
	switch {
	case r.binding == nil && r.secret == nil && len(r.others) > 0:
		return "" // The name may be misspelt.
	case !cleaned && (access.account != "" || r.secret == nil):
		verb := "stays"
		if r.binding == nil {
			verb = "may stay"
		}
		return "what " + verb + " is " + access.String() + "; to remove it: kubectl spillway unbind " + r.name + " --provider-context CONTEXT"
	case cleaned && access.account != "" && access.account != config.ProviderAccount:
		return "what stays is " + access.String() + "; it is not from kubectl spillway bind"
	default:
		return ""
	}
}

// secret deletes the Secret that bind has created, unless another binding uses it. cleaned says that the
// access of consumers to the provider has ended.
func (o *options) secret(ctx context.Context, consumer *cli.Cluster, output *cli.Output, left *remains, cleaned bool) error {
	secret := left.secret
	if secret == nil {
		return nil
	}
	step := cli.Step{Cluster: "consumer", Object: "secret/" + secret.Name, Namespace: secret.Namespace, Action: "deleted"}
	others := &v1alpha1.ClusterBindingList{}
	if err := consumer.List(ctx, others); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("reading the ClusterBindings: %w", err)
	}
	used := ""
	for i := range others.Items {
		if other := &others.Items[i]; other.Name != left.name && other.Spec.KubeconfigSecretRef.Name == secret.Name {
			used = other.Name
		}
	}
	switch {
	case used != "":
		step.Action, step.Message = "kept", "ClusterBinding "+used+" uses it, too"
	case !cli.Made(secret):
		credentials := "may contain valid credentials"
		if cleaned && accessOf(secret, left.field).account == config.ProviderAccount {
			credentials = "its token is no longer valid"
		}
		step.Action = "kept"
		step.Message = "it was not created by kubectl spillway, and " + credentials + ": kubectl delete secret " + secret.Name + " -n " + secret.Namespace
	case !o.DryRun:
		if err := client.IgnoreNotFound(consumer.Delete(ctx, secret, precondition.Exactly(secret))); err != nil {
			return fmt.Errorf("deleting Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
	}
	output.Did(step)
	return nil
}
