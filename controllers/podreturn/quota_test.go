package podreturn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// onNodes are the pods on the virtual nodes, by binding; nil: they are not known.
type onNodes map[string][]corev1.Pod

func (o onNodes) Bindings() (names []string) {
	for name := range o {
		names = append(names, name)
	}
	return names
}

func (o onNodes) Pods(_ context.Context, binding, namespace string) ([]corev1.Pod, error) {
	if o[binding] == nil {
		return nil, inventory.ErrUnknown
	}
	return slices.DeleteFunc(slices.Clone(o[binding]), func(pod corev1.Pod) bool { return namespace != "" && pod.Namespace != namespace }), nil
}

// counting remembers nothing.
func counting(_ *v1alpha1.ClusterBinding, count func() (*quota.Use, error)) (*quota.Use, error) {
	return count()
}

type noNamespaces struct{ client.Reader }

func (noNamespaces) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}

// TestLimit: what is free in eu for pods of namespace a1 that return is what the quota leaves. Namespaces a1 and a2 are
// of team a, and one CPU is promised to a2.
func TestLimit(t *testing.T) {
	namespace := func(name, team string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	cached := fake.NewClientBuilder().WithObjects(namespace("a1", "a"), namespace("a2", "a"), namespace("b", "b")).Build()
	pod := func(namespace, cpu string) corev1.Pod {
		cpus := corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpus, Limits: cpus}}}}}
	}
	pods := onNodes{"eu": {pod("a1", "1"), pod("a2", "2"), pod("b", "4")}, "us": {pod("a1", "3")}}
	for name, test := range map[string]struct {
		cached client.Reader
		pods   onNodes
		hard   string
		// want is free, and promised is what of it others will use.
		want, promised string
	}{
		"no quota":                        {cached, onNodes{}, "", "cpu=8 memory=1Gi", ""},
		"some is left":                    {cached, pods, "cpu=5", "cpu=2 memory=1Gi", "cpu=1"},
		"it is promised":                  {cached, pods, "cpu=4", "cpu=1 memory=1Gi", "cpu=1"},
		"nothing is left":                 {cached, pods, "cpu=3", "memory=1Gi", ""},
		"limits are left for each":        {cached, pods, "limits.cpu=7", "cpu=8 memory=1Gi", ""},
		"limits are not left for one":     {cached, pods, "limits.cpu=5", "", ""}, // Of the pod in us.
		"pods are not known":              {cached, onNodes{"us": {}}, "cpu=5", "error", ""},
		"a namespace cannot be read":      {noNamespaces{}, pods, "cpu=5", "error", ""},
		"without a quota nothing is read": {noNamespaces{}, onNodes{}, "", "cpu=8 memory=1Gi", ""},
	} {
		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
		if test.hard != "" {
			q := v1alpha1.NamespaceQuota{Name: "a", Hard: listOf(test.hard)}
			q.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"team": "a"}
			binding.Spec.Quota = []v1alpha1.NamespaceQuota{q}
		}
		places, promised := []Place{{Name: "eu", Free: spill.SizeOfList(listOf("cpu=8 memory=1Gi"))}}, &promises{}
		toA2 := pod("a2", "1")
		promised.keep("eu", Pod{Pod: &toA2})
		err := (&limiter{cached: test.cached, pods: test.pods, namespace: "a1", promised: promised, used: counting}).limit(t.Context(), binding, places)
		if err != nil || test.want == "error" {
			if err == nil || test.want != "error" {
				t.Errorf("%s: got error %v", name, err)
			}
			continue
		}
		got := [2]spill.Size{append(spill.Size{}, places[0].Free...), append(spill.Size{}, places[0].Promised...)}
		if diff := cmp.Diff([2]spill.Size{spill.SizeOfList(listOf(test.want)), spill.SizeOfList(listOf(test.promised))}, got); diff != "" {
			t.Errorf("%s: free and promised (-want +got):\n%s", name, diff)
		}
	}
}

// asked counts what is read of onNodes, by binding: of all namespaces, and of one.
type asked struct {
	onNodes
	all, own map[string]int
}

func (a asked) Pods(ctx context.Context, binding, namespace string) ([]corev1.Pod, error) {
	if namespace == "" {
		a.all[binding]++
	} else {
		a.own[binding]++
	}
	return a.onNodes.Pods(ctx, binding, namespace)
}

// TestLimitCounts: the pods of a binding are added up once for all namespaces, until one of them or spec.quota changes, and
// the pods of a namespace are found once for all bindings.
func TestLimitCounts(t *testing.T) {
	pods := asked{onNodes{"eu": {}, "us": {}, "ap": {}}, map[string]int{}, map[string]int{}}
	used, now := &usage{}, builder.Epoch
	binding := func(name string) *v1alpha1.ClusterBinding {
		b := builder.Binding(name).Obj()
		b.Spec.Quota = []v1alpha1.NamespaceQuota{{Name: "x", Hard: listOf("cpu=1")}}
		return b
	}
	eu, us := binding("eu"), binding("us")
	cached := fake.NewClientBuilder().Build()
	sweep := func() {
		for i := range 10 {
			l := &limiter{cached: cached, pods: pods, namespace: fmt.Sprint(i), promised: &promises{}, used: func(b *v1alpha1.ClusterBinding, count func() (*quota.Use, error)) (*quota.Use, error) {
				return used.quotas(b, now, count)
			}}
			for _, b := range []*v1alpha1.ClusterBinding{eu, us} {
				if err := l.limit(t.Context(), b, []Place{{Name: b.Name}}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, step := range []struct {
		what   string
		change func()
		eu, us int // How often all their pods were listed.
	}{
		{"first", func() {}, 1, 1},
		{"nothing", func() {}, 0, 0},
		{"a pod", func() { used.changed("eu") }, 1, 0},
		{"spec.quota", func() { us = us.DeepCopy(); us.Generation++ }, 0, 1},
		{"time passes", func() { now = now.Add(valid) }, 1, 1},
	} {
		clear(pods.all)
		clear(pods.own)
		step.change()
		sweep()
		if pods.all["eu"] != step.eu || pods.all["us"] != step.us || pods.all["ap"] != 0 || pods.own["eu"] != 10 || pods.own["us"] != 10 || pods.own["ap"] != 10 {
			t.Errorf("%s: of all namespaces %v, of one %v", step.what, pods.all, pods.own)
		}
	}
}

// listOf reads a list such as "cpu=8 memory=1Gi".
func listOf(text string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		all[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	return all
}
