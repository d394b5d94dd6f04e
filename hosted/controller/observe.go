package controller

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// connect creates the client of the cluster.
func (v *visit) connect(ctx context.Context) error {
	secret, err := v.secret(ctx)
	if err != nil {
		return err
	}
	c, err := v.Clouds.Client(ctx, v.h, secret)
	if err != nil {
		return err
	}
	v.client, v.table = c, c.Table()
	return nil
}

// observe reads the operation, and then the cluster, so the operation is never newer than the reading.
func (v *visit) observe(ctx context.Context) error {
	if err := v.connect(ctx); err != nil {
		return err
	}
	if op := v.h.Status.Operation; op != nil && op.CloudID != "" && op.Message == "" {
		operation, err := v.client.Operation(ctx, op.Item, op.CloudID)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) {
			return err
		}
		if err != nil {
			// The cloud does not know it any more, so it is not running.
			operation = cloud.Operation{ID: op.CloudID, Item: op.Item, Done: true}
		}
		v.seen.Operation = &operation
	}
	return v.read(ctx)
}

func (v *visit) read(ctx context.Context) error {
	var err error
	v.seen.Reading, err = v.client.Read(ctx)
	v.seen.Missing = errors.Is(err, cloud.ErrNotFound)
	if v.seen.Missing {
		return nil
	}
	v.seen.Marked = cloud.IsMarked(v.seen.Reading.Config, string(v.h.UID))
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
func (v *visit) unknown(ctx context.Context, item string) ([]cloud.Operation, error) {
	ids, err := v.client.OperationIDs(ctx, item)
	if err != nil {
		return nil, err
	}
	var found []cloud.Operation
	for _, id := range v.operations.others(v.h.UID, item, ids) {
		operation, err := v.client.Operation(ctx, item, id)
		if err != nil {
			// A long list takes several reconciles. Operations that may belong to our request are read again.
			v.known(item, slices.DeleteFunc(found, v.isRecent))
			return nil, err
		}
		found = append(found, operation)
	}
	v.known(item, found)
	return found, nil
}

// isRecent reports whether an operation may be as new as the operation in the status.
func (v *visit) isRecent(operation cloud.Operation) bool {
	since := v.now
	if op := v.h.Status.Operation; op != nil {
		since = op.StartedAt.Time
	}
	return operation.Created.After(since.Add(-skew))
}

// known remembers the operations that are done.
func (v *visit) known(item string, found []cloud.Operation) {
	for _, operation := range found {
		if operation.Done {
			v.operations.add(v.h.UID, item, operation.ID)
		}
	}
}
