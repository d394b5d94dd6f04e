package controller

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// connect makes the client of the cluster.
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

// observe reads the cluster. What is known of an operation is older than what is read.
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
			// The cloud has forgotten it, so it is not under way.
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

// operations are those of clouds that have been seen to be done. To forget them costs one
// request for each.
type operations struct {
	lock sync.Mutex
	done map[types.UID]map[string]bool
}

func (o *operations) isDone(uid types.UID, id string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.done[uid][id]
}

func (o *operations) add(uid types.UID, id string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.done == nil {
		o.done = map[types.UID]map[string]bool{}
	}
	if o.done[uid] == nil {
		o.done[uid] = map[string]bool{}
	}
	o.done[uid][id] = true
}

func (o *operations) forget(uid types.UID) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.done, uid)
}

// unknown describes the operations of the cluster or a pool that were not seen to be done.
// From then on, those that are done are known.
func (v *visit) unknown(ctx context.Context, item string) ([]cloud.Operation, error) {
	ids, err := v.client.OperationIDs(ctx, item)
	if err != nil {
		return nil, err
	}
	var found []cloud.Operation
	for _, id := range ids {
		if v.operations.isDone(v.h.UID, id) {
			continue
		}
		operation, err := v.client.Operation(ctx, item, id)
		if err != nil {
			return nil, err
		}
		found = append(found, operation)
	}
	// Only now: if one of them could not be described, all are looked at again.
	for _, operation := range found {
		if operation.Done {
			v.operations.add(v.h.UID, operation.ID)
		}
	}
	return found, nil
}
