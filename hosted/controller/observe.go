package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
)

// observation is what a reconcile sees of a cluster in the cloud.
type observation struct {
	*object
	clouds Clouds
	// namespace is the namespace of the Secrets.
	namespace  string
	operations *operations
	client     cloud.Client
	table      *merge.Table
	seen       state.Seen
	// asked says that the cloud was asked to read something of the cluster.
	asked bool
}

// connect creates the client of the cluster.
func (o *observation) connect(ctx context.Context) error {
	secret, err := o.secret(ctx)
	if err != nil {
		return err
	}
	c, err := o.clouds.Client(ctx, o.h, secret)
	if err != nil {
		return err
	}
	o.client, o.table = c, c.Table()
	return nil
}

// secret returns the Secret that the spec names; nil if there is none.
func (o *observation) secret(ctx context.Context) (*corev1.Secret, error) {
	ref := o.h.Spec.Credentials.SecretRef
	if ref == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := o.api.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: ref.Name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s: %w", o.namespace, ref.Name, err)
	}
	return secret, nil
}

// observe reads the operations, and then the cluster, so no operation is newer than the reading.
func (o *observation) observe(ctx context.Context) error {
	if err := o.connect(ctx); err != nil {
		return err
	}
	o.asked = true
	o.seen.Operations, o.seen.Parallel = map[string]cloud.Operation{}, o.table.Parallel
	for _, op := range o.h.Status.AllInFlight() {
		if op.CloudID == "" {
			continue
		}
		operation, err := o.client.Operation(ctx, op.Item, op.CloudID)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) {
			return err
		}
		if err != nil {
			// The cloud does not know it any more, so it is not running.
			operation = cloud.Operation{ID: op.CloudID, Item: op.Item, Done: true}
		}
		o.seen.Operations[op.RequestToken] = operation
	}
	return o.read(ctx)
}

func (o *observation) read(ctx context.Context) error {
	var err error
	o.seen.Reading, err = o.client.Read(ctx)
	o.seen.Missing = errors.Is(err, cloud.ErrNotFound)
	if o.seen.Missing {
		return nil
	}
	o.seen.Marked = cloud.IsMarked(o.seen.Reading.Config, string(o.h.UID))
	if err != nil {
		return err
	}
	for _, op := range o.seen.Others() {
		o.seen.Reading.Change(op.Item, op.Call+" is in progress")
	}
	o.seen.Reading, err = ledger.Hold(o.h, o.table, o.seen.Reading)
	return err
}

// operations are the operations that were seen to be done, by object and item. They save a request for each
// operation; if they are lost, the requests are sent again.
type operations struct {
	lock sync.Mutex
	done map[types.UID]map[string]map[string]bool
}

// others returns the operations that are not known to be done. It forgets those that the cloud does not list
// any more, so that the memory is limited by the length of one list.
func (o *operations) others(uid types.UID, item string, ids []string) []string {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.done == nil {
		o.done = map[types.UID]map[string]map[string]bool{}
	}
	if o.done[uid] == nil {
		o.done[uid] = map[string]map[string]bool{}
	}
	var others []string
	listed := map[string]bool{}
	for _, id := range ids {
		if o.done[uid][item][id] {
			listed[id] = true
		} else {
			others = append(others, id)
		}
	}
	o.done[uid][item] = listed
	return others
}

func (o *operations) add(uid types.UID, item, id string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.done[uid][item][id] = true
}

func (o *operations) forget(uid types.UID) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.done, uid)
}

// unknown reads the operations of the cluster or a pool that were not seen to be done. It then remembers those
// that are done.
func (o *observation) unknown(ctx context.Context, item string) ([]cloud.Operation, error) {
	ids, err := o.client.OperationIDs(ctx, item)
	if err != nil {
		return nil, err
	}
	var found []cloud.Operation
	for _, id := range o.operations.others(o.h.UID, item, ids) {
		operation, err := o.client.Operation(ctx, item, id)
		if err != nil {
			// A long list takes several reconciles. Operations that may belong to our request are read again.
			o.known(item, slices.DeleteFunc(found, o.isRecent))
			return nil, err
		}
		found = append(found, operation)
	}
	o.known(item, found)
	return found, nil
}

// isRecent reports whether an operation may be as new as the first operation in flight.
func (o *observation) isRecent(operation cloud.Operation) bool {
	since := o.now
	for _, op := range o.h.Status.AllInFlight() {
		if op.StartedAt.Time.Before(since) {
			since = op.StartedAt.Time
		}
	}
	return operation.Created.After(since.Add(-skew))
}

// known remembers the operations that are done.
func (o *observation) known(item string, found []cloud.Operation) {
	for _, operation := range found {
		if operation.Done {
			o.operations.add(o.h.UID, item, operation.ID)
		}
	}
}

// twin notes whether another object has the cluster, as far as is known.
func (o *observation) twin(all []v1alpha1.HostedCluster) {
	uid := o.seen.Reading.UID
	if other := state.Twin(o.h, uid, all); other != nil {
		o.seen.Twin, o.seen.TwinHas = other.Name, uid != "" && other.Status.UpstreamUID == uid
	}
}
