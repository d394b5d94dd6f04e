package unscheduledpod

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestFateOf(t *testing.T) {
	onVirtual := in("spillway.io/node-type", "virtual")
	onLocal := corev1.NodeSelectorRequirement{Key: "spillway.io/node-type", Operator: corev1.NodeSelectorOpDoesNotExist}
	there, both, ssd := term(onVirtual), []corev1.NodeSelectorTerm{term(onVirtual, in("region", "eu")), term(onLocal)}, term(in("disk", "ssd"))
	asking := func(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		}
	}
	of := func(apiVersion, kind string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Controller: ptr.To(true)}}
		}
	}
	tolerating := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: key, Value: value}} }
	}
	at := func(after time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(builder.Epoch.Add(after)) }
	}
	owned := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet"}}
	}
	set, job := of("apps/v1", "ReplicaSet"), of("batch/v1", "Job")
	for name, test := range map[string]struct {
		pod  []func(*corev1.Pod)
		want Fate
	}{
		"nothing":                          {nil, Stays},
		"of a ReplicaSet":                  {[]func(*corev1.Pod){set, asking(there)}, Recreated},
		"of a StatefulSet":                 {[]func(*corev1.Pod){of("apps/v1", "StatefulSet"), asking(there)}, Recreated},
		"of a ReplicationController":       {[]func(*corev1.Pod){of("v1", "ReplicationController"), asking(there)}, Recreated},
		"of a Job":                         {[]func(*corev1.Pod){job, asking(there)}, Recreated},
		"of a DaemonSet":                   {[]func(*corev1.Pod){of("apps/v1", "DaemonSet"), asking(there)}, Stays},
		"of somebody else":                 {[]func(*corev1.Pod){of("tekton.dev/v1", "TaskRun"), asking(there)}, Stranded},
		"of somebody else's ReplicaSet":    {[]func(*corev1.Pod){of("example.com/v1", "ReplicaSet"), asking(there)}, Stranded},
		"owned, but not controlled":        {[]func(*corev1.Pod){owned, asking(there)}, Stranded},
		"bare":                             {[]func(*corev1.Pod){asking(there)}, Stranded},
		"with the user's own":              {[]func(*corev1.Pod){set, asking(term(in("disk", "ssd"), onVirtual))}, Recreated},
		"with a term that matches nothing": {[]func(*corev1.Pod){set, asking(there, term())}, Recreated},
		"with nothing but that":            {[]func(*corev1.Pod){set, asking(term())}, Stays},
		"gated":                            {[]func(*corev1.Pod){set, asking(there), func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }}, Recreated},
		"it may run here, too":             {[]func(*corev1.Pod){set, asking(both...), tolerating("spillway.io/virtual-node", "")}, Recreated},
		"bare, and may run here, too":      {[]func(*corev1.Pod){asking(both...), tolerating("spillway.io/virtual-node", "")}, Stays},
		"of a Job, and may run here, too":  {[]func(*corev1.Pod){job, asking(both...), tolerating("spillway.io/virtual-node", "")}, Stays},
		"it tolerates one":                 {[]func(*corev1.Pod){set, tolerating("spillway.io/virtual-node", "eu")}, Recreated},
		"it tolerates something else":      {[]func(*corev1.Pod){set, tolerating("gpu", "")}, Stays},
		"it asks for other nodes":          {[]func(*corev1.Pod){set, asking(ssd)}, Stays},
		"other nodes will do":              {[]func(*corev1.Pod){asking(there, ssd)}, Stays},
		"it has a node":                    {[]func(*corev1.Pod){set, asking(there), func(p *corev1.Pod) { p.Spec.NodeName = "own" }}, Stays},
		"it goes":                          {[]func(*corev1.Pod){set, asking(there), func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }}, Stays},
		"made in the second in which the offloading went": {[]func(*corev1.Pod){set, asking(there), at(time.Minute)}, Recreated},
		"made later":           {[]func(*corev1.Pod){set, asking(there), at(time.Minute + time.Second)}, Stays},
		"bare, and made later": {[]func(*corev1.Pod){asking(there), at(time.Hour)}, Stays},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			at(0)(pod)
			for _, change := range test.pod {
				change(pod)
			}
			if got := FateOf(pod, builder.Offloading("team").Deleted(time.Minute).Obj(), placement.Index{}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := FateOf(pod, builder.Offloading("team").Obj(), placement.Index{}); got != Stays {
				t.Errorf("while the namespace is offloaded: %q", got)
			}
		})
	}
}

// TestStrands checks that a binding with a mountNamespace accepts pods of namespaces that are not offloaded.
func TestStrands(t *testing.T) {
	eu := func() *builder.BindingBuilder { return builder.Binding("eu").Label("region", "eu") }
	mounts := eu().MountNamespace("mounted")
	pod := func(kind string, requirements ...corev1.NodeSelectorRequirement) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Controller: ptr.To(true)}}}}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{term(append(requirements, in("spillway.io/node-type", "virtual"))...)},
		}}}
		return p
	}
	placed := pod("Job")
	placed.Spec.NodeName = "own"
	for name, test := range map[string]struct {
		pod      *corev1.Pod
		bindings []*builder.BindingBuilder
		want     bool
	}{
		"no binding mounts":              {pod("Job"), []*builder.BindingBuilder{eu()}, true},
		"one mounts":                     {pod("Job"), []*builder.BindingBuilder{builder.Binding("us"), mounts}, false},
		"that one, by its labels":        {pod("Job", in("region", "eu")), []*builder.BindingBuilder{mounts}, false},
		"another one, by its labels":     {pod("Job", in("region", "us")), []*builder.BindingBuilder{builder.Binding("us").Label("region", "us"), mounts}, true},
		"nodes of the provider may do":   {pod("Job", in("kubernetes.io/arch", "arm64")), []*builder.BindingBuilder{mounts}, false},
		"the one that mounts is deleted": {pod("Job"), []*builder.BindingBuilder{eu().MountNamespace("mounted").Deleted(0)}, true},
		"of a DaemonSet":                 {pod("DaemonSet"), nil, false},
		"it may run here":                {&corev1.Pod{}, nil, false},
		"it has a node":                  {placed, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var bindings []v1alpha1.ClusterBinding
			for _, one := range test.bindings {
				bindings = append(bindings, *one.Obj())
			}
			if got := Strands(test.pod, placement.NewIndex(bindings)); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
