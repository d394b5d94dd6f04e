package shard

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Owner knows which bindings this replica works for.
type Owner interface {
	// Owns reports whether this replica works for the binding.
	Owns(binding string) bool
	// Subscribe calls handle with each binding for which that changes.
	Subscribe(handle func(binding string))
}

var (
	_ Owner = &Coordinator{}
	_ Owner = All{}
)

// All owns all bindings. Unless replicas share them, the elected one works for all.
type All struct{}

// Owns returns true.
func (All) Owns(string) bool { return true }

// Subscribe does nothing, because nothing changes.
func (All) Subscribe(func(string)) {}

// Source enqueues, for a controller, the request for each binding that this replica starts or stops working
// for.
func Source[R comparable](owner Owner, request func(binding string) R) source.TypedSource[R] {
	return source.TypedFunc[R](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		owner.Subscribe(func(binding string) { queue.Add(request(binding)) })
		return nil
	})
}
