package kinds

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/samples"
)

// The namespaces that are offloaded. Most parts use team. other is still offloaded when team is not any more.
const (
	team  = "team"
	other = "other"
)

// stage is the place where the parts of one kind run.
type stage struct {
	*world.World
	*managed
	kind engine.Registration
	// sample returns a sample of the kind.
	sample samples.New[client.Object]
	// patience is the longest wait.
	patience time.Duration
}

// verdict is the result of a part.
type verdict struct {
	part string
	took time.Duration
	err  error
}

// play runs parts for a kind: first the parts that can run at the same time, and then the others. It returns
// an error if no part could run.
func play(ctx context.Context, lane *world.Lane, kind engine.Registration, patience time.Duration, parts []part) ([]verdict, error) {
	w, err := lane.Begin(ctx)
	if err != nil {
		return nil, err
	}
	s := &stage{World: w, kind: kind, sample: samples.Of[kind.Name], patience: patience}
	verdicts, err := s.play(ctx, parts)
	return verdicts, errors.Join(err, w.End(context.WithoutCancel(ctx)))
}

func (s *stage) play(ctx context.Context, parts []part) ([]verdict, error) {
	if s.sample == nil {
		return nil, fmt.Errorf("the kind %s has no sample", s.kind.Name)
	}
	var err error
	if s.managed, err = manage(ctx, s.World); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.offload(ctx); err != nil {
		return nil, err
	}
	verdicts := make([]verdict, len(parts))
	one := func(i int) {
		began := time.Now()
		err := parts[i].play(ctx, s)
		verdicts[i] = verdict{part: parts[i].name, took: time.Since(began), err: err}
	}
	var group sync.WaitGroup
	for i := range parts {
		if !parts[i].alone {
			group.Go(func() { one(i) })
		}
	}
	group.Wait()
	for i := range parts {
		if parts[i].alone {
			one(i)
		}
	}
	return verdicts, s.err()
}

// offload binds the provider, and offloads both namespaces to it.
func (s *stage) offload(ctx context.Context) error {
	mapping := func(binding *v1alpha1.ClusterBinding) {
		binding.Spec.Classes = samples.Classes()
	}
	if err := s.Bind(ctx, mapping, world.P1); err != nil {
		return err
	}
	if err := s.Offload(ctx, team); err != nil {
		return err
	}
	if err := s.Offload(ctx, other); err != nil {
		return err
	}
	return s.eventually(ctx, "the binding to be Ready, and the namespaces to be offloaded", func(ctx context.Context) error {
		binding := &v1alpha1.ClusterBinding{}
		if err := s.Consumer.Admin.Get(ctx, client.ObjectKey{Name: world.P1}, binding); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(binding.Status.Conditions, v1alpha1.BindingReady) {
			return fmt.Errorf("the binding is not Ready: %+v", binding.Status.Conditions)
		}
		for _, namespace := range []string{team, other} {
			offloading := &v1alpha1.NamespaceOffloading{}
			if err := s.Consumer.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}, offloading); err != nil {
				return err
			}
			if offloading.Status.OffloadingPhase != v1alpha1.OffloadingPhaseReady {
				return fmt.Errorf("the offloading of %s is %q", namespace, offloading.Status.OffloadingPhase)
			}
		}
		return nil
	})
}

// eventually waits for something.
func (s *stage) eventually(ctx context.Context, what string, try func(context.Context) error) error {
	if err := rig.Eventually(ctx, s.patience, try); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// there and here are the clients of each cluster's administrator.
func (s *stage) there() client.Client { return s.Cluster(world.P1).Admin }
func (s *stage) here() client.Client  { return s.Consumer.Admin }

// passed waits until the manager has handled one more object, from its creation to its end state. The manager
// has then begun everything that it was going to do before.
func (s *stage) passed(ctx context.Context, namespace, name string) error {
	probe, err := s.create(ctx, namespace, name+"-probe")
	if err != nil {
		return err
	}
	_, err = probe.sent(ctx)
	return err
}
