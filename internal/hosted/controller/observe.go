package controller

import (
	"context"
	"errors"
	"slices"
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

// operations are what clouds have been seen to have done, by object and item. To forget them
// costs one request for each.
type operations struct {
	lock sync.Mutex
	done map[types.UID]map[string]map[string]bool
}

// others returns those that are not known to be done, and forgets what is not listed any more:
// what a cloud names takes no more memory than a list of it.
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

// unknown describes the operations of the cluster or a pool that were not seen to be done.
// From then on, those that are done are known.
func (v *visit) unknown(ctx context.Context, item string) ([]cloud.Operation, error) {
	ids, err := v.client.OperationIDs(ctx, item)
	if err != nil {
		return nil, err
	}
	var found []cloud.Operation
	for _, id := range v.operations.others(v.h.UID, item, ids) {
		operation, err := v.client.Operation(ctx, item, id)
		if err != nil {
			// A long list comes to its end in several reconciles. Those that may say something
			// of a request of ours are looked at again.
			v.known(item, slices.DeleteFunc(found, v.isRecent))
			return nil, err
		}
		found = append(found, operation)
	}
	v.known(item, found)
	return found, nil
}

// isRecent tells whether an operation may be as young as the one in the status.
func (v *visit) isRecent(operation cloud.Operation) bool {
	since := v.now
	if op := v.h.Status.Operation; op != nil {
		since = op.StartedAt.Time
	}
	return operation.Created.After(since.Add(-skew))
}

// known notes those that are done.
func (v *visit) known(item string, found []cloud.Operation) {
	for _, operation := range found {
		if operation.Done {
			v.operations.add(v.h.UID, item, operation.ID)
		}
	}
}
