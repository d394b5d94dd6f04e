//go:build upgrade

package upgrade

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// defaultCount is how many pods run while the manager is replaced.
const defaultCount = 500

// few is a part of those, which are made when it has been.
const few = 10

// TestMain silences client-go and the caches of the rig.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestUpgrade has a sub-test for each order in which users may apply what is new.
func TestUpgrade(t *testing.T) {
	count := defaultCount
	if text := os.Getenv("COUNT"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		must(t, err)
	}
	orders := map[string][]func(*site, *testing.T){
		"consumer-first": {(*site).upgradeConsumer, (*site).upgradeProviders},
		"provider-first": {(*site).upgradeProviders, (*site).upgradeConsumer},
	}
	known := false
	for _, name := range []string{"consumer-first", "provider-first"} {
		if order := os.Getenv("ORDER"); order != "" && order != name {
			continue
		}
		known = true
		t.Run(name, func(t *testing.T) { upgrade(t, count, orders[name]) })
	}
	if !known {
		t.Fatalf("there is no order %q", os.Getenv("ORDER"))
	}
}

func upgrade(t *testing.T, count int, steps []func(*site, *testing.T)) {
	s := up(t)
	s.start(t, s.from)
	s.offload(t)
	s.run(t, count)
	s.quiet(t)
	before := s.keep(t)
	for _, step := range steps {
		was := s.figures(t)
		step(s, t)
		s.quiet(t)
		s.report(t, s.figures(t).Since(was))
		s.check(t, before)
	}
	s.say("%d more pods", max(2, count/few))
	s.run(t, max(2, count/few))
	s.quiet(t)
	s.check(t, before)
	must(t, s.offloadingReady(t.Context()))
	s.end(t, before)
}

// upgradeConsumer applies the new manifests, and puts the new manager in the
// place of the old one.
func (s *site) upgradeConsumer(t *testing.T) {
	s.say("upgrading the consumer")
	s.apply(t, s.Consumer, "")
	must(t, s.manager.Stop())
	s.start(t, s.root)
}

func (s *site) upgradeProviders(t *testing.T) {
	s.say("upgrading the providers")
	for _, provider := range s.Providers {
		s.apply(t, provider, "")
	}
	s.limited = true
	must(t, rig.Eventually(t.Context(), patience, s.ready))
}

// keep has the witnesses watch over all pods that there are, and returns them.
func (s *site) keep(t *testing.T) map[types.UID]string {
	all := map[types.UID]string{}
	for i, c := range s.All() {
		pods := s.pods(t.Context(), t, c)
		s.witnesses[i].keep(pods)
		for _, pod := range pods {
			all[pod.UID] = c.ID + " " + pod.Namespace + "/" + pod.Name
		}
	}
	if len(all) != 2*s.count {
		t.Fatalf("there are %d pods on both sides, not %d", len(all), 2*s.count)
	}
	return all
}

// check fails the test if anything has happened to any of the pods.
func (s *site) check(t *testing.T, kept map[types.UID]string) {
	there := map[types.UID]bool{}
	for i, c := range s.All() {
		for _, pod := range s.pods(t.Context(), t, c) {
			there[pod.UID] = true
			if !readyPod(&pod) {
				t.Errorf("cluster %s: pod %s/%s %s: %+v", c.ID, pod.Namespace, pod.Name, trouble(&pod), pod.Status.Conditions)
			}
		}
		if _, problems := s.witnesses[i].result(); len(problems) > 0 {
			t.Errorf("%v", problems)
		}
	}
	for uid, name := range kept {
		if !there[uid] {
			t.Errorf("pod %s is not there any more, or was made again", name)
		}
	}
	deletes := requests.Filter(func(k requests.Key) bool {
		return k.Resource == "pods" && k.Verb == "delete" || k.Subresource == "eviction"
	})
	if n := s.figures(t).Sum(deletes).Requests; n != 0 {
		t.Errorf("the managers have asked for %d deletions or evictions of pods", n)
	}
	s.say("%d pods are as they were", len(kept))
}

// report tells what a step has cost.
func (s *site) report(t *testing.T, cost requests.Figures) {
	s.say("%d writes, %.2f for each pod:", cost.Sum(requests.OnlyWork, requests.Writes).Requests,
		float64(cost.Sum(requests.Resource("pods"), requests.Writes).Requests)/float64(s.count))
	for _, row := range cost.Rows(requests.OnlyWork, requests.Writes) {
		fmt.Printf("    %+v\n", row)
	}
	if object, n := cost.MostWrites(func(o requests.Object) bool { return o.Resource == "pods" }); n > mostWrites {
		t.Errorf("%+v was written %d times", object, n)
	}
}

// mostWrites is how often one pod may be written for an upgrade: once for what a
// new version says of itself in its status.
const mostWrites = 1

// end deletes one pod of each kind, which takes its remote one along, and no other.
func (s *site) end(t *testing.T, kept map[types.UID]string) {
	pods := s.pods(t.Context(), t, s.Consumer)
	last := map[string]corev1.Pod{}
	for _, pod := range pods {
		if kept[pod.UID] == "" {
			last[pod.Namespace] = pod
		}
	}
	if len(last) != 2 {
		t.Fatalf("there are new pods in %d namespaces, not in 2", len(last))
	}
	for _, pod := range last {
		must(t, s.Consumer.Admin.Delete(t.Context(), &pod))
	}
	s.count -= len(last)
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error {
		all := 0
		for _, c := range s.All() {
			all += len(s.pods(ctx, t, c))
		}
		if all != 2*s.count {
			return fmt.Errorf("there are %d pods on both sides, not %d", all, 2*s.count)
		}
		return nil
	}))
	for i := range s.witnesses {
		if n, problems := s.witnesses[i].result(); n == 0 || len(problems) > 0 {
			t.Errorf("of %d pods that were watched: %v", n, problems)
		}
	}
}
