package unbind

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/objects"
	"github.com/spillway-io/spillway/internal/provider/lease"
)

// open connects to the provider, which must belong to this binding and to no other.
func (r *remains) open(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, flags cli.ProviderFlags) (*cli.Provider, error) {
	provider, err := f.Provider(flags)
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
	ends := r.ends(bindings.Items)
	for i := range ends {
		if err := ends[i].locate(ctx, consumer, provider, uid); err != nil {
			return nil, err
		}
	}
	r.at = ends[0].at
	if err := mayClean(provider.Name, ends[0], ends[1:]); err != nil {
		return nil, err
	}
	all, err := config.Objects("provider")
	if err == nil {
		err = (&objects.Writer{Cluster: provider.Cluster}).MayDelete(ctx, Access(all))
	}
	return provider, err
}

// place says where a binding leads; empty if that is not known.
type place string

const (
	here      place = "here"
	elsewhere place = "elsewhere"
)

// end is one binding, or what is left of it, and whether it leads to a provider.
type end struct {
	name string
	// uid is the identity of the cluster to which it was connected, if it ever was.
	uid         string
	secret, key string
	at          place
}

// ends returns what is left of the binding first, then all other bindings.
func (r *remains) ends(bindings []v1alpha1.ClusterBinding) []end {
	all := []end{{name: r.name, secret: r.key.Name, key: r.field}}
	for i := range bindings {
		one := end{
			name: bindings[i].Name, uid: bindings[i].Status.RemoteClusterUID,
			secret: bindings[i].Spec.KubeconfigSecretRef.Name, key: bindings[i].Spec.KubeconfigSecretRef.Key,
		}
		if one.name == r.name {
			all[0] = one
		} else {
			all = append(all, one)
		}
	}
	return all
}

// locate determines whether the binding leads to the provider with that identity. If the binding was never
// connected, or is gone, the account of its token decides, even after the token has expired. An earlier run
// may have deleted that account; then the address and the authority beside the token decide.
func (e *end) locate(ctx context.Context, consumer *cli.Cluster, provider *cli.Provider, uid string) error {
	if e.uid != "" {
		if e.at = elsewhere; e.uid == uid {
			e.at = here
		}
		return nil
	}
	secret := &corev1.Secret{}
	err := consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: e.secret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s/%s: %w", config.Namespace, e.secret, err)
	}
	token := accessOf(secret, e.key)
	if token.uid == "" {
		return nil
	}
	there := &corev1.ServiceAccount{}
	err = provider.Get(ctx, client.ObjectKey{Namespace: config.ProviderNamespace, Name: token.account}, there)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ServiceAccount %s/%s in %s: %w", config.ProviderNamespace, token.account, provider.Name, err)
	}
	ended := err != nil && token.account == config.ProviderAccount && token.leadsTo(provider.Endpoint)
	if e.at = elsewhere; there.UID == token.uid || ended {
		e.at = here
	}
	return nil
}

// mayClean returns an error unless the access to a provider belongs to this binding alone. If nothing in this
// cluster says where the binding led, what consumers have in the provider decides.
func mayClean(provider string, own end, others []end) error {
	switch {
	case own.at != elsewhere:
	case own.uid != "":
		return fmt.Errorf("ClusterBinding %s is for a cluster other than %s: use the context of that cluster, or none", own.name, provider)
	default:
		return fmt.Errorf("%s does not have the account whose token is in Secret %s: it is another cluster, or the account was deleted. Use the context of the provider of %s, "+
			"or none to leave providers unchanged", provider, own.secret, own.name)
	}
	for _, other := range others {
		if other.at == here {
			return fmt.Errorf("ClusterBinding %s also uses %s, and needs access to it: omit --provider-context and --provider-kubeconfig", other.name, provider)
		}
	}
	return nil
}

// clean deletes what bind has created in the provider, if nobody uses it any more. A dry run only warns if
// somebody does, and then returns false: more may be gone once the binding is.
func (o *options) clean(ctx context.Context, consumer, provider *cli.Cluster, output *cli.Output, left *remains) (done bool, err error) {
	used, err := Used(ctx, provider)
	if err != nil {
		return false, left.unfinished(err)
	}
	if o.DryRun && left.binding != nil {
		goes, err := left.goes(ctx, consumer)
		if err != nil {
			return false, err
		}
		used = slices.DeleteFunc(used, func(one string) bool { return slices.Contains(goes, one) })
	}
	if len(used) > 0 {
		why := strings.Join(used, ", ") + "; when they are gone, run this command again"
		if leases := held(ctx, provider, used, time.Now()); leases != "" {
			why += "; " + leases
		}
		err := left.unfinished(fmt.Errorf("the account in %s is kept, because a consumer still has objects there: %s", provider.Name, why))
		if o.DryRun && left.binding != nil {
			output.Warn("once ClusterBinding %s is gone, %v", left.name, err)
			return false, nil
		}
		return false, err
	}
	all, err := config.Objects("provider")
	if err == nil {
		err = (&objects.Writer{Cluster: provider, Side: "provider", Output: output, DryRun: o.DryRun}).Delete(ctx, Access(all))
	}
	if err != nil {
		return false, left.unfinished(err)
	}
	output.Say("the limits and the policies of consumers stay in %s; see --help", provider.Name)
	return true, nil
}

// goes returns what leaves the provider together with the binding, in the words of Used.
func (r *remains) goes(ctx context.Context, consumer *cli.Cluster) ([]string, error) {
	origin, err := consumer.UID(ctx)
	if err != nil {
		return nil, err
	}
	steps, err := losses(ctx, consumer, r.binding)
	if err != nil {
		return nil, err
	}
	names := []string{"Lease " + lease.Name(provenance.Mark{Origin: origin, ClusterID: r.binding.Spec.ClusterID})}
	for _, step := range steps {
		if name, is := strings.CutPrefix(step.Object, "namespace/"); is && step.Action == deleted {
			names = append(names, "Namespace "+name)
		}
	}
	return names, nil
}

// Access returns the objects of a provider that give a consumer access, and their priority, in order. It leaves out
// the objects that confine consumers.
func Access(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(account.InOrder(all), func(object *unstructured.Unstructured) bool {
		return object.GetKind() != "ServiceAccount" && !slices.Contains([]string{rbacv1.GroupName, flowcontrolv1.GroupName}, object.GroupVersionKind().Group)
	})
}

// Used returns what consumers have in a provider: their namespaces, and the Leases of their managers.
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

// held says who holds each of these Leases and since when nobody has renewed it, and how to delete the Lease of a consumer
// that no longer exists. No age proves that: the manager of a consumer may be stopped, or cut off, for long.
func held(ctx context.Context, provider *cli.Cluster, used []string, now time.Time) string {
	leases := &coordinationv1.LeaseList{}
	if err := provider.List(ctx, leases, client.InNamespace(config.ProviderNamespace)); err != nil {
		return "" // It was read a moment ago.
	}
	var lines []string
	for i := range leases.Items {
		one := &leases.Items[i]
		if !slices.Contains(used, "Lease "+one.Name) {
			continue
		}
		line := "Lease " + one.Name + " is held by " + cmp.Or(text.Clean(ptr.Deref(one.Spec.HolderIdentity, "")), "nobody")
		if at := one.Spec.RenewTime; at != nil {
			line += ", and was last renewed " + duration.HumanDuration(now.Sub(at.Time)) + " ago"
		}
		lines = append(lines, line+"; if its consumer no longer exists: kubectl delete lease "+one.Name+" -n "+config.ProviderNamespace+", in the provider")
	}
	return strings.Join(lines, "; ")
}
