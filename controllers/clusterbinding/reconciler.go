// Package clusterbinding connects the providers, and reports on them in the status of each ClusterBinding. When
// a ClusterBinding is deleted, it removes everything in order.
//
// decide*.go decide the status, without any I/O.
package clusterbinding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/consumer/endpoint"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/budget"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/status,verbs=patch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/finalizers,verbs=update
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespacemaps,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch,namespace=spillway-system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;delete,namespace=kube-node-lease

// Reconciler reconciles ClusterBindings.
type Reconciler struct {
	Client client.Client
	// Live bypasses the caches: leases are not worth a cache.
	Live      client.Reader
	Fleet     *fleet.Fleet
	Inventory *inventory.Inventory
	Views     *views.Views
	// Owner says which bindings this replica connects.
	Owner shard.Owner
	// Namespace is the manager's own, with the kubeconfig Secrets.
	Namespace string
	// PolicyServed reports whether the consumer can run the admission policy.
	PolicyServed bool
	// Webhook reports whether the webhook prepares pods.
	Webhook bool
	Events  events.EventRecorder
	// Refusals knows which writes the consumer refuses.
	Refusals *consumer.Refusals
	// Definitions knows how the served kinds differ from the kinds of this version.
	Definitions *consumer.Definitions
	// Endpoints verifies where pods reach the consumer's API server.
	Endpoints *endpoint.Verifier
	Clock     clock.PassiveClock
	// Pace limits the reports of one step of a deletion.
	Pace *throttle.Pacer

	written ownwrites.Versions
	// accepted has the fingerprint of each binding's last credentials that were accepted. A
	// restarted manager has none, and reports nothing about earlier replacements.
	accepted sync.Map
	// reportedHolders has the names of the bindings on which we have reported that another manager
	// holds the provider.
	reportedHolders sync.Map
}

// observed is the input of a reconcile.
type observed struct {
	snapshot
	config *rest.Config
	// fingerprint and endpoint are of config: see fleet.Target.
	fingerprint, endpoint string
	// refusedUntil is after how long refused writes may have expired.
	refusedUntil time.Duration
	// verifyAgain is after how long the address in spec.consumerAPI is verified again.
	verifyAgain time.Duration
	// drain is the input of its deletion, if it is being deleted; unknown is set while
	// that is incomplete.
	drain   drain.Snapshot
	unknown bool
}

// Reconcile reconciles one ClusterBinding.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cb := &v1alpha1.ClusterBinding{}
	if err := r.Client.Get(ctx, req.NamespacedName, cb); err != nil {
		if apierrors.IsNotFound(err) {
			r.Fleet.Leave(req.Name)
			r.forget(req.Name)
			r.written.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Owner.Owns(cb.Name) {
		// Another replica works for it, and writes its status. The Lease in the provider is
		// given back.
		r.Fleet.Disconnect(cb.Name)
		r.forget(cb.Name)
		return ctrl.Result{}, nil
	}
	if r.written.IsStale(cb) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	o, err := r.observe(ctx, cb)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.observeResidents(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	r.connect(o)
	o.Connection = o.explained(r.Fleet.State(cb.Name))
	if r.contradicted(o) {
		return ctrl.Result{}, nil
	}
	if !cb.DeletionTimestamp.IsZero() {
		return (&deletion{r, o}).step(ctx)
	}
	if before := cb.DeepCopy(); controllerutil.AddFinalizer(cb, v1alpha1.FinalizerBinding) {
		if err := r.Client.Patch(ctx, cb, precondition.Locked(before)); err != nil {
			return retry.Done(fmt.Errorf("adding the finalizer to ClusterBinding %s: %w", cb.Name, err))
		}
		r.written.Expect(cb)
	}
	result, err := retry.Done(r.report(ctx, o, Decide(o.snapshot)))
	r.reportRotation(o)
	result.RequeueAfter = retry.Sooner(retry.Sooner(result.RequeueAfter, untilWarned(o)), retry.Sooner(o.refusedUntil, o.Webhook.UntilExpired(o.Now)))
	result.RequeueAfter = retry.Sooner(result.RequeueAfter, o.verifyAgain)
	return result, err
}

// forget drops what this replica holds for a binding.
func (r *Reconciler) forget(name string) {
	r.Inventory.Close(name)
	r.reportedHolders.Delete(name)
	r.Endpoints.Forget(name)
	r.Pace.Forget(name)
	r.accepted.Delete(name)
}

// contradicted reports whether somebody has reverted our report that another manager
// holds the provider: that manager works for this very binding, and the two of us would
// write its status in turns, for ever.
func (r *Reconciler) contradicted(o *observed) bool {
	if o.Connection.Reason != v1alpha1.ReasonHeldByAnother {
		r.reportedHolders.Delete(o.Binding.Name)
		return false
	}
	if conditions.Reason(o.Binding.Status.Conditions, v1alpha1.BindingConnected) == v1alpha1.ReasonHeldByAnother {
		r.reportedHolders.Store(o.Binding.Name, true)
		return false
	}
	_, told := r.reportedHolders.Load(o.Binding.Name)
	return told
}

func (r *Reconciler) observe(ctx context.Context, cb *v1alpha1.ClusterBinding) (*observed, error) {
	o := &observed{snapshot: snapshot{Binding: cb, PolicyServed: r.PolicyServed, Now: r.Clock.Now()}}
	o.Skew = r.Definitions.Skew()
	if api := cb.Spec.ConsumerAPI; api.Host != "" && cb.DeletionTimestamp.IsZero() {
		o.ConsumerAPI, o.verifyAgain = r.Endpoints.Verdict(cb.Name, api) //nolint:contextcheck // The handshake outlives the reconcile, and is bounded.
	} else {
		r.Endpoints.Forget(cb.Name)
	}
	var err error
	if o.Bindings, err = consumer.Bindings(ctx, r.Client); err != nil {
		return nil, err
	}
	o.Holder = o.Bindings.Holder(cb.Spec.ClusterID)
	if cb.Spec.Network.Mode == v1alpha1.NetworkRouted {
		var nodes corev1.NodeList
		if err := r.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing Nodes: %w", err)
		}
		o.Nodes = nodes.Items
	}

	node, nsm := &corev1.Node{}, &v1alpha1.NamespaceMap{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: cb.VirtualNodeName()}, node); err == nil {
		o.Node = node
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("getting Node %s: %w", cb.VirtualNodeName(), err)
	}
	if o.Virtual, err = consumer.VirtualNodes(ctx, r.Client, cb); err != nil {
		return nil, err
	}
	o.WritesRefused, o.refusedUntil = r.Refusals.Message(o.concerns)
	o.Node = speaks(o.Node, o.Virtual)
	if err := r.Client.Get(ctx, client.ObjectKey{Name: cb.Name}, nsm); err == nil {
		o.NamespaceMap = nsm
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("getting NamespaceMap %s: %w", cb.Name, err)
	}
	if err := r.readWebhook(ctx, o); err != nil {
		return nil, err
	}
	return o, r.readCredentials(ctx, o)
}

// readWebhook reads what the API server needs to call the webhook.
func (r *Reconciler) readWebhook(ctx context.Context, o *observed) error {
	if !r.Webhook {
		return nil
	}
	o.Webhook = &Webhook{}
	configuration, secret := &admissionregistrationv1.MutatingWebhookConfiguration{}, &corev1.Secret{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: v1alpha1.PodAdmissionName}, configuration); err == nil {
		o.Webhook.Configuration = configuration
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("getting MutatingWebhookConfiguration %s: %w", v1alpha1.PodAdmissionName, err)
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: v1alpha1.WebhookSecret}, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting Secret %s/%s: %w", r.Namespace, v1alpha1.WebhookSecret, err)
	}
	o.Webhook.Certificate = secret.Data[corev1.TLSCertKey]
	return nil
}

// readCredentials loads the kubeconfig, or records what is wrong with it.
func (r *Reconciler) readCredentials(ctx context.Context, o *observed) error {
	ref := o.Binding.Spec.KubeconfigSecretRef
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) {
		o.Credentials = &field.Problem{Reason: v1alpha1.ReasonSecretNotFound,
			Message: fmt.Sprintf("there is no Secret %s in namespace %s", ref.Name, r.Namespace)}
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting Secret %s/%s: %w", r.Namespace, ref.Name, err)
	}
	data, ok := secret.Data[ref.Key]
	if !ok {
		o.Credentials = &field.Problem{Reason: v1alpha1.ReasonKeyNotFound,
			Message: fmt.Sprintf("Secret %s/%s has no key %s", r.Namespace, ref.Name, ref.Key)}
		return nil
	}
	config, err := kubeconfig.Load(data)
	var refused *kubeconfig.Error
	if errors.As(err, &refused) {
		o.Credentials = &field.Problem{Reason: refused.Reason,
			Message: fmt.Sprintf("key %s of Secret %s/%s: %s", ref.Key, r.Namespace, ref.Name, refused.Error())}
		return nil
	}
	if o.config = config; config != nil {
		o.fingerprint, o.endpoint = kubeconfig.Fingerprint(config)
		o.Validity.What, o.Validity.From, o.Validity.Until = kubeconfig.Validity(config)
	}
	return err
}

// connect keeps a connection for a binding with usable credentials, and for no other.
// Once deletion no longer needs the provider, the connection is closed, or kept only to
// give up the Lease: by then somebody may force the binding's removal at any moment.
func (r *Reconciler) connect(o *observed) {
	drained := !o.Binding.DeletionTimestamp.IsZero() && !o.unknown && !drain.NeedsProvider(o.drain)
	leaving := drain.ReachedLease(o.Binding) || drained && drain.MayHoldLease(o.Binding)
	if drained && !leaving || o.Duplicate() || o.Credentials != nil {
		r.Fleet.Disconnect(o.Binding.Name)
		return
	}
	r.Fleet.Connect(fleet.Target{
		Name:        o.Binding.Name,
		ClusterID:   o.Binding.Spec.ClusterID,
		Config:      o.config,
		Fingerprint: o.fingerprint, Endpoint: o.endpoint,
		PinnedUID: o.Binding.Status.RemoteClusterUID,
		Holder:    o.Binding.Status.Holder,
		TakeOver:  o.Binding.Annotations[v1alpha1.AnnotationTakeOver],
		Budget:    budget.Budget{Memory: o.Binding.Spec.Budget.MemoryBytes(), Objects: o.Binding.Spec.Budget.MaxObjects()},
		Leaving:   leaving,
	})
}

// explained adds an expired token, or an expired client certificate, to the message about a provider
// that refuses the credentials.
func (o *observed) explained(state fleet.State) fleet.State {
	if state.Reason != v1alpha1.ReasonUnauthorized || o.config == nil {
		return state
	}
	if expiry, ok := kubeconfig.TokenExpiry(o.config.BearerToken); ok && expiry.Before(o.Now) {
		state.Message += fmt.Sprintf("; the token expired at %s", expiry.UTC().Format(time.RFC3339))
	}
	if expiry, ok := kubeconfig.CertificateExpiry(o.config.CertData); ok && expiry.Before(o.Now) {
		state.Message += fmt.Sprintf("; the client certificate expired at %s", expiry.UTC().Format(time.RFC3339))
	}
	return state
}

// report writes the status if it differs, and records events about what has changed.
func (r *Reconciler) report(ctx context.Context, o *observed, status v1alpha1.ClusterBindingStatus) error {
	if equality.Semantic.DeepEqual(o.Binding.Status, status) {
		return nil
	}
	before := o.Binding.DeepCopy()
	o.Binding.Status = status
	if err := r.Client.Status().Patch(ctx, o.Binding, precondition.Locked(before)); err != nil {
		if apierrors.IsForbidden(err) { // Then the status cannot say so.
			r.Events.Eventf(before, nil, corev1.EventTypeWarning, v1alpha1.ReasonForbiddenHere, "Report", "%s", conditions.Note(err.Error()))
		}
		return fmt.Errorf("writing the status of ClusterBinding %s: %w", o.Binding.Name, err)
	}
	r.written.Expect(o.Binding)
	for _, news := range eventsOf(before.Status.Conditions, status.Conditions) {
		r.Events.Eventf(o.Binding, nil, news.Type, news.Reason, "Reconcile", "%s", conditions.Note(news.Message))
	}
	r.warnExpiry(before, o.Binding)
	return nil
}
