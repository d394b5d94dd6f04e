package namespacemap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
)

const (
	// batch is the most namespaces that one reconcile creates or deletes, so that the status keeps up.
	batch = 200
	// parallel is how many requests one provider gets at a time. A provider with priority
	// and fairness serves far more.
	parallel = 10
	// requestTimeout limits one request, including the client library's own retries.
	requestTimeout = 15 * time.Second

	// mostSaid is how many characters of an error are kept, as many as the status may have. The provider chooses how
	// long it is.
	mostSaid = 512

	// See k8s.io/pod-security-admission/api: the label and its middle level.
	podSecurityEnforce = "pod-security.kubernetes.io/enforce"
)

// executor is shared by the actions of one reconcile.
type executor struct {
	*Reconciler
	provider *fleet.Provider
	seen     *ownwrites.Reader
	binding  *v1alpha1.ClusterBinding
	mark     provenance.Mark
	outcomes *outcomes // The Reconciler's outcomes for these namespaces.
	// unreported has the remote namespaces whose deletion the plan does not report.
	unreported sets.Set[string]

	mu    sync.Mutex
	known map[string]namespacemap.Known
	errs  []error
	// conflicted reports that somebody else has written meanwhile.
	conflicted bool
}

// newExecutor returns the executor of a binding, which carries out plans and keeps their outcomes in about.
func (r *Reconciler) newExecutor(provider *fleet.Provider, binding *v1alpha1.ClusterBinding, about *outcomes) *executor {
	return &executor{
		Reconciler: r, provider: provider, seen: provider.CacheReader, binding: binding, outcomes: about,
		mark: provenance.Mark{Origin: r.Origin, ClusterID: binding.Spec.ClusterID, Account: provider.Account},
	}
}

// act carries out the actions of the plan, and records the results in it. If it is not finished, it returns
// when to continue.
func (a *executor) act(ctx context.Context, backingOff map[string]namespacemap.Outcome, plan *namespacemap.Plan) (time.Duration, error) {
	a.known, a.unreported = plan.Known, unreported(plan)
	due := slices.DeleteFunc(plan.Deletes, func(d namespacemap.Delete) bool {
		outcome, waits := backingOff[d.RemoteNamespace]
		if waits && outcome.Reason == v1alpha1.ReasonVolumesRemain && losesVolumes(ctx, a, a.Client, d) {
			return false
		}
		if waits {
			a.note(d.Namespace, d.RemoteNamespace, outcome)
		}
		return waits
	})
	deletes := due[:min(len(due), batch)]
	creates := plan.Creates[:min(len(plan.Creates), batch-len(deletes))]
	workqueue.ParallelizeUntil(ctx, parallel, len(deletes), func(i int) { a.delete(ctx, deletes[i]) })
	workqueue.ParallelizeUntil(ctx, parallel, len(creates), func(i int) { a.create(ctx, creates[i]) })
	var again time.Duration
	if len(deletes)+len(creates) > 0 {
		again = ownwrites.Lifetime // If the cache never shows the writes, it is trusted after that time.
	}
	switch {
	case len(deletes) < len(due) || len(creates) < len(plan.Creates):
		again = time.Millisecond
	case a.conflicted:
		again = retry.ConflictRetry
	}
	return again, errors.Join(a.errs...)
}

// unreported returns the remote namespaces that a plan deletes without a report. Nothing in the consumer waits for
// them, or the report on their local namespace is about another remote namespace.
func unreported(plan *namespacemap.Plan) sets.Set[string] {
	untold := sets.New[string]()
	for _, d := range plan.Deletes {
		if plan.Known[d.Namespace].RemoteNamespace != d.RemoteNamespace {
			untold.Insert(d.RemoteNamespace)
		}
	}
	return untold
}

// namespace returns the remote namespace of a local one, or the mount namespace if local is empty. It carries
// the mark, and the pod security standard that the provider's limits grant: the provider's policy requires
// both.
func (a *executor) namespace(remote, local string, localUID types.UID) *corev1.Namespace {
	labels := a.mark.Labels()
	labels[podSecurityEnforce] = a.provider.Limits.Now().Enforced()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: remote, Labels: labels}}
	if local != "" {
		namespace.Annotations = provenance.NamespaceAnnotations(local, localUID)
	}
	return namespace
}

func (a *executor) create(ctx context.Context, c namespacemap.Create) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	remote := a.namespace(c.RemoteNamespace, c.Namespace, c.LocalUID)
	err := a.provider.GetClient().Create(ctx, remote)
	if apierrors.IsAlreadyExists(err) && c.Namespace == "" {
		a.retrySoon() // The next reconcile reads whose namespace it is.
		return
	}
	if apierrors.IsAlreadyExists(err) {
		a.existing(ctx, c)
		return
	}
	if err != nil {
		a.refused(c.Namespace, c.RemoteNamespace, namespacemap.Outcome{
			Phase: v1alpha1.MappingCreationLoopBackOff, Reason: v1alpha1.ReasonCreationFailed,
		}, fmt.Errorf("creating namespace %s in provider %s: %w", c.RemoteNamespace, a.binding.Spec.ClusterID, err))
		return
	}
	a.seen.Expect(remote)
	a.succeeded(c.Namespace, c.RemoteNamespace, namespacemap.Outcome{Phase: v1alpha1.MappingAccepted, Reason: v1alpha1.ReasonNamespaceActive})
}

// existing reports whose an existing namespace is. The cache holds only namespaces with Spillway's mark, so
// existing reads this one from the provider.
func (a *executor) existing(ctx context.Context, c namespacemap.Create) {
	remote := &corev1.Namespace{}
	err := a.provider.GetAPIReader().Get(ctx, client.ObjectKey{Name: c.RemoteNamespace}, remote)
	if err != nil {
		a.failed(fmt.Errorf("getting namespace %s of provider %s: %w", c.RemoteNamespace, a.binding.Spec.ClusterID, err))
		return
	}
	if !a.mark.IsOn(remote) {
		a.backOff(c.Namespace, c.RemoteNamespace, namespacemap.Outcome{
			Phase: v1alpha1.MappingCreationLoopBackOff, Reason: v1alpha1.ReasonNameConflict,
			Message: fmt.Sprintf("namespace %s exists in provider %s, and is left alone: %s", remote.Name, a.binding.Spec.ClusterID, provenance.Describe(remote)),
		})
		return
	}
	// It is Spillway's: a reconcile created it, and ended before it saw that. The cache lags a moment. What the
	// cache will show decides.
	a.seen.Expect(remote)
	decided := namespacemap.Decide(namespacemap.Snapshot{
		Desired:          []v1alpha1.DesiredMapping{{Namespace: c.Namespace, RemoteNamespace: c.RemoteNamespace}},
		Locals:           localUIDs{c.Namespace: c.LocalUID},
		Remotes:          map[string]namespacemap.RemoteNamespace{remote.Name: remoteNamespace(remote)},
		ManagerNamespace: a.Settings.ManagerNamespace,
	})
	a.succeeded(c.Namespace, c.RemoteNamespace, decided.Known[c.Namespace].Outcome)
}

func (a *executor) delete(ctx context.Context, d namespacemap.Delete) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if asks, err := a.isRequested(ctx, a.Live, a.binding, d); err != nil || asks {
		a.note(d.Namespace, d.RemoteNamespace, namespacemap.Outcome{Phase: v1alpha1.MappingAccepted, Reason: v1alpha1.ReasonNamespaceActive})
		if err != nil {
			a.failed(err)
		} else {
			a.retrySoon()
		}
		return
	}
	emptied := a.emptied.Load()
	if holds, err := volumesIn(ctx, a, d); err != nil {
		unanswered(a, d, err)
		return
	} else if holds != "" {
		waitForClaims(ctx, a, d, holds, emptied)
		return
	}
	remote := a.namespace(d.RemoteNamespace, d.Namespace, d.LocalUID)
	remote.UID = d.UID
	deletion, cancel := context.WithTimeout(parent, requestTimeout)
	defer cancel()
	err := a.provider.GetClient().Delete(deletion, remote, client.Preconditions{UID: &d.UID})
	if retry.IgnoreGone(err) != nil {
		// Conflicts also count: if another namespace has taken the name, the watch will show it soon.
		a.refused(d.Namespace, d.RemoteNamespace, namespacemap.Outcome{
			Phase: v1alpha1.MappingTerminating, Reason: v1alpha1.ReasonDeletionFailed,
		}, fmt.Errorf("deleting namespace %s in provider %s: %w", d.RemoteNamespace, a.binding.Spec.ClusterID, err))
		return
	}
	a.outcomes.clear(a.binding.Name, d.RemoteNamespace)
	a.seen.ExpectTerminating(remote, nil)
}

// refused handles an error of the provider. An error about the request is an outcome: it is reported, and
// retried slowly. Any other error, such as a lost connection or expired credentials, says nothing about the
// entry, and is retried soon. So is a write that somebody else's write preceded. That does not count as an
// error, unless it happens every time. A server error that lasts is reported, too.
func (a *executor) refused(namespace, remote string, outcome namespacemap.Outcome, err error) {
	before, again := a.outcomes.last(a.binding.Name, remote, outcome.Phase)
	outcome.Message = text.Bound(retry.Said(err), mostSaid)
	switch {
	case retry.IsServerError(err) && a.outcomes.serverError(a.binding.Name, remote):
		outcome.Reason = v1alpha1.ReasonServerError
		if again && before.Reason == outcome.Reason && retry.SameError(before.Message, outcome.Message) {
			outcome = before
		}
	case !retry.SaysWhy(err) && !apierrors.IsConflict(err):
		if again {
			a.note(namespace, remote, before) // Nothing newer is known.
		}
		a.failed(err)
		return
	case apierrors.IsConflict(err) && !a.outcomes.conflict(a.binding.Name, remote):
		a.retrySoon()
		return
	}
	a.backOff(namespace, remote, outcome)
}

func (a *executor) succeeded(namespace, remote string, outcome namespacemap.Outcome) {
	a.outcomes.clear(a.binding.Name, remote)
	a.note(namespace, remote, outcome)
}

func (a *executor) backOff(namespace, remote string, outcome namespacemap.Outcome) {
	a.outcomes.refused(a.binding.Name, remote, outcome)
	a.note(namespace, remote, outcome)
}

func (a *executor) note(namespace, remote string, outcome namespacemap.Outcome) {
	if a.unreported.Has(remote) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[namespace] = namespacemap.Known{RemoteNamespace: remote, Outcome: outcome}
}

// retrySoon notes that somebody else has written meanwhile.
func (a *executor) retrySoon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conflicted = true
}

func (a *executor) failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errs = append(a.errs, err)
}
