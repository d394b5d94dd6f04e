package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/install"
	"github.com/spillway-io/spillway/internal/plugin/objects"
)

// webhooks is the kind of the webhook's configuration.
var webhooks = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}

// installation checks what install applies to the consumer.
type installation struct {
	*run
	// shipped are the objects that should exist.
	shipped []*unstructured.Unstructured
}

func (i *installation) version() error {
	found, err := i.consumer.Version()
	if err != nil {
		return err
	}
	i.found(ofVersion(found))
	return nil
}

// expect determines which objects should be installed. Even if the API server serves the policy for pods, the
// webhook may be installed. That is so with admission.mode Webhook in the chart, or if it was installed
// before the cluster was upgraded to Kubernetes 1.36.
func (i *installation) expect(ctx context.Context) error {
	shipped, directory, err := install.Shipped(i.consumer)
	if i.shipped = shipped; err != nil || directory == install.WithWebhook {
		return err
	}
	webhook, err := i.has(ctx, webhooks)
	if err != nil || !webhook {
		return err
	}
	policy, err := i.has(ctx, install.PodsPolicy)
	if err != nil {
		return err
	}
	if policy {
		i.found(leftWebhook())
		return nil
	}
	i.shipped, err = config.Objects(install.WithWebhook)
	return err
}

// has reports whether the policy or the webhook that prepares pods exists. If it may not be read, it counts
// as absent: installed reports that.
func (i *installation) has(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(kind)
	err := i.consumer.Get(ctx, client.ObjectKey{Name: v1alpha1.PodAdmissionName}, there)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind.Kind, v1alpha1.PodAdmissionName, err)
	}
	return true, nil
}

// leftWebhook is the finding about a webhook beside the policy.
func leftWebhook() Finding {
	return Finding{
		Level: Warning, Check: "installed", Object: "mutatingwebhookconfiguration.admissionregistration.k8s.io/" + v1alpha1.PodAdmissionName,
		Message: "it exists besides the policy of that name, which does the same: it remains from before Kubernetes 1.36",
		Mend: "kubectl spillway install (or helm upgrade), so that the manager stops using it; then kubectl delete mutatingwebhookconfiguration " + v1alpha1.PodAdmissionName +
			"; kubectl delete clusterrolebinding,clusterrole " + v1alpha1.WebhookService +
			"; kubectl delete rolebinding,role,service,secret " + v1alpha1.WebhookService + " -n " + config.Namespace,
	}
}

// installed looks for each object that install applies.
func (i *installation) installed(ctx context.Context) (kinds bool, err error) {
	kinds = true
	outside, err := install.Outside(ctx, i.consumer)
	if err != nil && !apierrors.IsForbidden(err) { // If it may not be read, the loop below says so.
		return false, err
	}
	if outside != "" { // Such a manager needs no Deployment, and a second manager would conflict with it.
		i.shipped = slices.DeleteFunc(i.shipped, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	}
	var missing []string
	var found []*unstructured.Unstructured
	for _, object := range i.shipped {
		there := &unstructured.Unstructured{}
		there.SetGroupVersionKind(object.GroupVersionKind())
		switch err := i.consumer.Get(ctx, client.ObjectKeyFromObject(object), there); {
		case apierrors.IsNotFound(err):
			missing = append(missing, objects.Name(object))
			kinds = kinds && object.GetKind() != "CustomResourceDefinition"
		case apierrors.IsForbidden(err):
			i.found(Finding{Level: Warning, Check: "installed", Object: objects.Name(object), Message: "you may not read it", Mend: "run doctor as a cluster administrator"})
			return kinds, nil
		case err != nil:
			return false, fmt.Errorf("reading %s: %w", objects.Name(object), err)
		default:
			found = append(found, there)
		}
	}
	if shipped := schemas(i.shipped); kinds && len(shipped) > 0 {
		i.found(ofDefinitions(schemas(found), shipped))
	}
	if len(missing) > 0 {
		i.found(Finding{Level: Error, Check: "installed", Message: "missing: " + strings.Join(missing, ", "), Mend: "kubectl spillway install"})
		return kinds, nil
	}
	i.found(Finding{Level: OK, Check: "installed", Message: fmt.Sprintf("all %d objects exist", len(i.shipped))})
	return kinds, nil
}
