// Package bind makes a hosted cluster a provider, as spec.binding of its HostedCluster says. It creates a
// ClusterBinding, and keeps its Secret up to date.
//
// Whoever may manage a cluster in the cloud is an administrator in the cluster, and a consumer must not be one.
// So Spillway uses the cloud's token only in memory, for what a provider's administrator does by hand. It
// applies the manifests of config/provider, and requests a token of the account that they create. The Secret
// gets that token. It has the rights that config/provider gives a consumer, and lasts an hour. It is renewed
// after half of that; the manager continues with the new one over the same connection.
//
// The cloud's own token is requested each time, and stored nowhere. The account cannot request tokens itself:
// whoever steals a token can use it for an hour at most.
//
// One call observes, decides (in a pure function) and acts, until it can only wait. Everything that it
// remembers is on the Secret and the ClusterBinding. So the process may end at any point, and a new one writes
// nothing again.
package bind

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/internal/precondition"
)

// name is our field manager, and our name in kubeconfigs.
const name = "spillway-hosted"

// ErrNoSource: the client of the cloud cannot give access to the cluster.
var ErrNoSource = errors.New("access to clusters of this cloud is not supported yet")

// Binder binds hosted clusters. Several goroutines may use it, each for another cluster.
type Binder struct {
	// Client reads from the consumer's API server, not from a cache, and writes there.
	Client client.Client
	// Namespace is the manager's namespace, which has the Secrets of ClusterBindings.
	Namespace string
	Clock     clock.PassiveClock
}

// New returns a Binder for that consumer. namespace is the manager's namespace. New sends no request.
func New(consumer *rest.Config, namespace string) (*Binder, error) {
	known := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return nil, err
	}
	c, err := client.New(consumer, client.Options{Scheme: known})
	if err != nil {
		return nil, fmt.Errorf("creating a client for ClusterBindings: %w", err)
	}
	return &Binder{Client: c, Namespace: namespace, Clock: clock.RealClock{}}, nil
}

// Bind does what is due for a HostedCluster whose cluster exists and runs. source may be nil if the cloud gives
// no access. Bind returns the condition Bound, or nil for none, and how long the caller may wait until it calls
// again. Zero means: until the next read. Errors come from the consumer's API server.
func (b *Binder) Bind(ctx context.Context, h *hosted.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error) {
	plan, err := b.work(ctx, h, source, Seen{})
	return plan.Bound, plan.Again, err
}

// Keep renews the token of an existing ClusterBinding, and does nothing else. It is for a cluster that could
// not be read, or that Spillway leaves alone. It renews the token only if the cluster's address is the same,
// because another cluster may have its name by now.
func (b *Binder) Keep(ctx context.Context, h *hosted.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error) {
	plan, err := b.work(ctx, h, source, Seen{Keep: true})
	return plan.Bound, plan.Again, err
}

// Unbind removes the binding. The caller repeats it until it is done; until then, Unbind returns the condition
// Bound. gone says that the cluster does not exist any more, so nothing waits for its content. Without a
// source, Unbind cannot renew a token that expires meanwhile.
func (b *Binder) Unbind(ctx context.Context, h *hosted.HostedCluster, source cloud.Source, gone bool) (*metav1.Condition, bool, error) {
	h = h.DeepCopy()
	h.Spec.Binding = nil
	plan, err := b.work(ctx, h, source, Seen{Gone: gone})
	return plan.Bound, err == nil && plan.Step == Done, err
}

// digest is the digest of a provider's manifests, which do not change while the program runs.
var digest = sync.OnceValues(func() (string, error) {
	objects, err := config.Objects("provider")
	if err != nil {
		return "", err
	}
	return config.Digest(objects)
})

// steps is how many steps one call may take. More would be a loop.
const steps = 8

func (b *Binder) work(ctx context.Context, h *hosted.HostedCluster, source cloud.Source, as Seen) (Plan, error) {
	for range steps {
		seen, err := b.observe(ctx, h)
		if err != nil {
			return Plan{}, err
		}
		seen.Gone, seen.Keep = as.Gone, as.Keep
		plan := Decide(seen)
		switch plan.Step {
		case Wait, Done:
			return plan, nil
		case Renew:
			secret, err := b.renew(ctx, h, seen, source)
			if err != nil {
				return seen.without(err), nil
			}
			err = b.put(ctx, seen.Secret, secret)
			if err != nil {
				return Plan{}, err
			}
		default:
			if err := b.act(ctx, h, seen, plan.Step); err != nil {
				return Plan{}, err
			}
		}
	}
	return Plan{}, fmt.Errorf("binding HostedCluster %s: it is not done after %d steps", h.Name, steps)
}

func (b *Binder) observe(ctx context.Context, h *hosted.HostedCluster) (Seen, error) {
	manifests, err := digest()
	if err != nil {
		return Seen{}, fmt.Errorf("reading the manifests of a provider: %w", err)
	}
	seen := Seen{Owner: h.UID, Wanted: wanted(h), Manifests: manifests, Now: b.Clock.Now()}
	binding, secret := &v1alpha1.ClusterBinding{}, &corev1.Secret{}
	err = b.Client.Get(ctx, client.ObjectKey{Name: h.Name}, binding)
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return Seen{}, fmt.Errorf("getting ClusterBinding %s: %w", h.Name, err)
	}
	if err == nil {
		seen.Binding = binding
	}
	err = b.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: secretName(h)}, secret)
	if client.IgnoreNotFound(err) != nil {
		return Seen{}, fmt.Errorf("getting Secret %s/%s: %w", b.Namespace, secretName(h), err)
	}
	if err == nil {
		seen.Secret = secret
	}
	return seen, nil
}

// mostTime is how long renewing a token may take: a slow cluster must not hold up others.
const mostTime = 2 * time.Minute

// renew returns the Secret with a new token. It has its own allowance in the cloud, whatever the reconcile has
// read before.
func (b *Binder) renew(ctx context.Context, h *hosted.HostedCluster, seen Seen, source cloud.Source) (*corev1.Secret, error) {
	if source == nil {
		return nil, ErrNoSource
	}
	ctx, done := cloud.WithAllowance(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	at, err := source.Connection(ctx)
	if err != nil {
		return nil, err
	}
	access, err := open(at)
	if err != nil {
		return nil, err
	}
	defer access.close()
	prepared, err := access.prepareFor(ctx, seen)
	if err != nil {
		return nil, err
	}
	token, renew, err := access.token(ctx, seen.Now)
	if err != nil {
		return nil, err
	}
	document, err := access.kubeconfig(token)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: secretName(h)}}
	if seen.Secret != nil {
		secret = seen.Secret.DeepCopy()
	}
	secret.Labels = with(secret.Labels, map[string]string{hosted.LabelHostedCluster: string(h.UID)})
	secret.Annotations = with(secret.Annotations, map[string]string{
		hosted.AnnotationRenewAt: renew.Format(time.RFC3339), hosted.AnnotationPrepared: prepared,
	})
	secret.Data = map[string][]byte{v1alpha1.DefaultKubeconfigKey: document}
	return secret, nil
}

func (b *Binder) act(ctx context.Context, h *hosted.HostedCluster, seen Seen, step Step) error {
	switch step {
	case Put:
		after := seen.Wanted
		if seen.Binding != nil {
			after = seen.Binding.DeepCopy()
			overlay(after, seen.Wanted)
			return b.put(ctx, seen.Binding, after)
		}
		return b.put(ctx, nil, after)
	case Forget:
		after := seen.Binding.DeepCopy()
		after.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan
		return b.put(ctx, seen.Binding, after)
	case Delete:
		return b.delete(ctx, seen.Binding)
	case DeleteSecret:
		return b.delete(ctx, seen.Secret)
	default:
		return fmt.Errorf("binding HostedCluster %s: step %s is not known", h.Name, step)
	}
}

// put creates an object, or patches it if nobody has changed it since it was read.
func (b *Binder) put(ctx context.Context, before, after client.Object) error {
	what := fmt.Sprintf("%T %s", after, after.GetName())
	if after.GetResourceVersion() == "" {
		if err := b.Client.Create(ctx, after, client.FieldOwner(name)); err != nil {
			return fmt.Errorf("creating %s: %w", what, err)
		}
		return nil
	}
	if err := b.Client.Patch(ctx, after, precondition.Locked(before), client.FieldOwner(name)); err != nil {
		return fmt.Errorf("changing %s: %w", what, err)
	}
	return nil
}

func (b *Binder) delete(ctx context.Context, object client.Object) error {
	if err := b.Client.Delete(ctx, object, precondition.Exactly(object)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
	}
	return nil
}
