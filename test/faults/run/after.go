package run

import (
	"context"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// hold waits for r.Hold after the end, and checks again. Nothing may have changed, and the manager may not
// have tried any write. OutOfBand and Identity are exempt from the second rule: there somebody refuses or
// blocks writes.
func (l *Lane) hold(ctx context.Context, s *session, r Run, o *Outcome) error {
	before, began := len(s.injector.Points()), time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.Hold):
	}
	tried := s.injector.Points()[before:]
	if r.Part == OutOfBand || r.Part == Identity {
		tried = nil
	}
	for _, point := range tried {
		o.problem("all was done, and yet within %s there was one more write: %s", r.Hold, point)
	}
	if l.Ledger.LastChange().After(began) {
		o.problem("all was done, and yet something has changed within %s", r.Hold)
	}
	if err := l.read(ctx, o); err != nil {
		return err
	}
	if err := r.differences(o); err != nil {
		o.problem("%s after the end: %v", r.Hold, err)
	}
	o.Problems = append(o.Problems, l.Ledger.Violations()...)
	s.injector.Note("still at rest")
	return nil
}

// again starts another manager over the end state. It must start, and write nothing but its own address on
// each node. The previous manager removes that address when it ends, which is a write as well.
func (l *Lane) again(ctx context.Context, s *session, o *Outcome) error {
	before, err := nodes(ctx, s.world)
	if err != nil {
		return err
	}
	s.injector.Arm(nil)
	began, err := s.replace(ctx)
	if err != nil {
		o.problem("one more manager does not start: %v", err)
		return ctx.Err()
	}
	s.injector.Note("one more manager has been started")
	if err := rig.Eventually(ctx, prepareWithin, func(ctx context.Context) error { return renewed(ctx, s.world, began) }); err != nil {
		o.problem("one more manager does not go on: %v", err)
		return ctx.Err()
	}
	if err := l.rests(ctx, s, calm); err != nil {
		o.problem("after one more restart it does not come to rest: %v", err)
	}
	for _, point := range s.injector.Points() {
		if point.Resource == "nodes" && point.Subresource == "status" && point.Verb == "patch" && point.Occurrence <= 2 {
			continue
		}
		o.problem("nothing was left to do, and yet one more manager has written: %s", point)
	}
	after, err := nodes(ctx, s.world)
	if diff := cmp.Diff(before, after); diff != "" {
		o.problem("one more manager has changed more of the nodes than its address:\n%s", diff)
	}
	return err
}

// nodes returns the statuses of the virtual nodes, without the manager's address.
func nodes(ctx context.Context, w *world.World) (map[string]corev1.NodeStatus, error) {
	var list corev1.NodeList
	if err := w.Consumer.Admin.List(ctx, &list); err != nil {
		return nil, err
	}
	all := map[string]corev1.NodeStatus{}
	for _, node := range list.Items {
		if strings.HasPrefix(node.Name, v1alpha1.VirtualNodePrefix) {
			node.Status.Addresses, node.Status.DaemonEndpoints = nil, corev1.NodeDaemonEndpoints{}
			all[node.Name] = node.Status
		}
	}
	return all, nil
}
