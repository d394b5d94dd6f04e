package hostile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// pods is the number of pods that come and go in one round of the good provider.
const pods = 40

// aRound is the set of requests that the good provider gets in one round. There are no reads, and none of its
// watches begins again.
var aRound = map[string]int{"create pods": pods, "delete pods": pods}

// round lets pods come and go in the good provider, a few at a time. It returns how long each took until it
// ran, sorted.
func (s *setup) round(t *testing.T, name string) []time.Duration {
	t.Helper()
	before := len(s.asked())
	var mu sync.Mutex
	var took []time.Duration
	must(t, rig.ForEach(t.Context(), pods, func(ctx context.Context, i int) error {
		d, err := s.life(ctx, fmt.Sprintf("%s-%02d", name, i))
		mu.Lock()
		defer mu.Unlock()
		took = append(took, d)
		return err
	}))
	got := map[string]int{}
	for _, request := range s.asked()[before:] {
		got[request.Verb+" "+request.Resource]++
	}
	for what, want := range aRound {
		if got[what] != want {
			t.Errorf("the good provider was asked %d times to %s, want %d", got[what], what, want)
		}
		delete(got, what)
	}
	if len(got) > 0 {
		t.Errorf("the good provider was asked for more than when all is calm: %v", got)
	}
	slices.Sort(took)
	return took
}

// asked returns the requests to the good provider about users' objects, and all requests that fill a cache.
func (s *setup) asked() []requests.Request {
	return slices.DeleteFunc(s.counter.Log(requests.Cluster(good), requests.OnlyWork), func(r requests.Request) bool {
		return r.Verb == requests.Watch && !r.Fills
	})
}

// life creates a pod, waits until its owner sees it run, and deletes it. It plays the kubelet of the good
// provider.
func (s *setup) life(ctx context.Context, name string) (time.Duration, error) {
	pod := newPod(name, good)
	began := time.Now()
	if err := s.Consumer.Admin.Create(ctx, pod); err != nil {
		return 0, err
	}
	if err := setPhase(ctx, s.Providers[0], name, corev1.PodRunning); err != nil {
		return 0, err
	}
	runs := rig.Eventually(ctx, patience, func(ctx context.Context) error {
		local := &corev1.Pod{}
		if err := s.Consumer.Watched.Get(ctx, client.ObjectKeyFromObject(pod), local); err != nil {
			return err
		}
		if local.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s is %s", name, local.Status.Phase)
		}
		return nil
	})
	took := time.Since(began)
	if runs != nil {
		return took, runs
	}
	if err := s.Consumer.Admin.Delete(ctx, pod); err != nil {
		return took, err
	}
	return took, rig.Eventually(ctx, patience, func(ctx context.Context) error {
		for _, c := range []struct {
			*rig.Cluster
			namespace string
		}{{s.Consumer, pod.Namespace}, {s.Providers[0], remoteNamespace()}} {
			err := c.Watched.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &corev1.Pod{})
			if client.IgnoreNotFound(err) != nil || err == nil {
				return fmt.Errorf("pod %s is still in cluster %s: %w", name, c.ID, err)
			}
		}
		return nil
	})
}

func newPod(name, provider string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: name},
		Spec: corev1.PodSpec{
			NodeName:   v1alpha1.VirtualNodePrefix + provider,
			Containers: []corev1.Container{{Name: "app", Image: "app:1"}},
		},
	}
}

// remoteNamespace is the namespace of the remote pods.
func remoteNamespace() string { return rig.Namespace(0).GetName() + "-" + consumerID }

// setPhase waits for a remote pod, and sets its phase.
func setPhase(ctx context.Context, provider *rig.Cluster, name string, phase corev1.PodPhase) error {
	remote := &corev1.Pod{}
	if err := rig.Eventually(ctx, patience, func(ctx context.Context) error {
		return provider.Watched.Get(ctx, client.ObjectKey{Namespace: remoteNamespace(), Name: name}, remote)
	}); err != nil {
		return err
	}
	before := remote.DeepCopy()
	remote.Status.Phase = phase
	return provider.Admin.Status().Patch(ctx, remote, client.MergeFrom(before))
}
