package podadmission

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// rotations counts the rotators of this process, because each of their controllers needs a unique name.
var rotations atomic.Int64

// rotate keeps a certificate authority and a serving certificate in the Secret, and the authority in the
// configuration of the webhook. Any replica may renew them; the first one to write wins. The channel is
// closed when both exist and the Secret is mounted.
func rotate(everywhere ctrl.Manager, directory, namespace string) (ready <-chan struct{}, err error) {
	done, name := make(chan struct{}), "webhook-certificate"
	if n := rotations.Add(1); n > 1 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return done, rotator.AddRotator(careful{everywhere}, &rotator.CertRotator{
		SecretKey:      types.NamespacedName{Namespace: namespace, Name: v1alpha1.WebhookSecret},
		CertDir:        directory,
		CAName:         "spillway-webhook-ca",
		CAOrganization: "spillway",
		DNSName:        v1alpha1.WebhookService + "." + namespace + ".svc",
		IsReady:        done,
		Webhooks:       []rotator.WebhookInfo{{Name: v1alpha1.PodAdmissionName, Type: rotator.Mutating}},
		FieldOwner:     "spillway-webhook",
		ControllerName: name,
	})
}

// careful is a manager for the rotator. A failure of the rotator ends nothing else, and the rotator does not
// repeat a write.
type careful struct{ ctrl.Manager }

// Add adds a runnable whose failure does not end the manager. It fails without the Secret, for example; the
// condition PodAdmission says what is missing.
func (m careful) Add(r manager.Runnable) error {
	return m.Manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := r.Start(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "the webhook's certificate is not renewed until the manager is started again")
		}
		return nil
	}))
}

// GetClient returns a client that does not write what is stored already.
func (m careful) GetClient() client.Client { return writeless{m.Manager.GetClient(), m.GetAPIReader()} }

type writeless struct {
	client.Client
	// live bypasses the caches, which may be older than the rotator's cache.
	live client.Reader
}

// Update skips the write if the configuration has the authority already.
func (c writeless) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if updated, ok := obj.(*unstructured.Unstructured); ok {
		there, wanted := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(updated.Object, wanted); err != nil {
			return fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", updated.GetName(), err)
		}
		if err := c.live.Get(ctx, client.ObjectKeyFromObject(obj), there); err == nil && equality.Semantic.DeepEqual(there.Webhooks, wanted.Webhooks) {
			return nil
		}
	}
	return c.Client.Update(ctx, obj, opts...)
}
