package doctor

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

func TestStrayed(t *testing.T) {
	offloading := func(strategy v1alpha1.PodOffloadingStrategy) *v1alpha1.NamespaceOffloading {
		return &v1alpha1.NamespaceOffloading{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: v1alpha1.OffloadingName},
			Spec:       v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: strategy},
		}
	}
	on := func(namespace, node string, tolerations ...corev1.Toleration) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "on-" + node}}
		pod.Spec.NodeName, pod.Spec.Tolerations = node, tolerations
		return pod
	}
	prepared := on("team", "other", corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists})
	pods := []corev1.Pod{on("team", "node"), on("team", ""), on("team", "spillway-eu"), on("another", "node"), prepared}
	if got := strayed(offloading(v1alpha1.PodsRemote), pods); !slices.Equal(got, []string{"on-node"}) {
		t.Errorf("Remote: got %v", got)
	}
	if got := strayed(offloading(v1alpha1.PodsLocalAndRemote), pods); len(got) > 0 {
		t.Errorf("LocalAndRemote: got %v", got)
	}
}

// TestStrays: from the objects in the API server to the finding.
func TestStrays(t *testing.T) {
	offloading := &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: v1alpha1.OffloadingName},
		Spec:       v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote},
	}
	on := func(namespace, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: corev1.PodSpec{NodeName: node}}
	}
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		hidden client.ObjectList
		level  Level
		want   string
	}{
		"on an ordinary node":          {on("team", "node"), nil, Warning, "at admission: web"},
		"without a node":               {on("team", ""), nil, OK, "no pod of a Remote namespace"},
		"of another namespace":         {on("other", "node"), nil, OK, "no pod of a Remote namespace"},
		"Pods are hidden":              {on("team", "node"), &corev1.PodList{}, Warning, "you may not read Pods"},
		"NamespaceOffloadings are too": {on("team", "node"), &v1alpha1.NamespaceOffloadingList{}, Warning, "you may not read NamespaceOffloadings"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &exam{run: &run{consumer: consumerOf(t, test.hidden, offloading, test.pod)}}
			var err error
			if e.seen, err = status.Read(t.Context(), e.consumer, ""); err != nil {
				t.Fatal(err)
			}
			e.strays()
			if len(e.findings) != 1 || e.findings[0].Level != test.level || !strings.Contains(e.findings[0].Message, test.want) {
				t.Errorf("got %+v", e.findings)
			}
		})
	}
}

// TestStranded: pods that need virtual nodes, in a namespace that is not offloaded.
func TestStranded(t *testing.T) {
	offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "offloaded", Name: v1alpha1.OffloadingName}}
	virtual := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu", Labels: map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}}}
	pod := func(namespace, node string, only bool, reason string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: corev1.PodSpec{NodeName: node}}
		if only {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}},
			}}}}}
		}
		if reason != "" {
			p.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: reason}}
		}
		return p
	}
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		hidden client.ObjectList
		level  Level
		want   string
		mounts bool // A binding has a mountNamespace.
	}{
		"waits":                      {pod("team", "", true, ""), nil, Warning, "they wait forever: 1 pod (team/web)", false},
		"waits, and may be mounted":  {pod("team", "", true, ""), nil, OK, "no pod needs virtual nodes", true},
		"Bindings may not be read":   {pod("team", "", true, ""), &v1alpha1.ClusterBindingList{}, Warning, "they wait forever, unless a provider has a mountNamespace: 1 pod (team/web)", true},
		"waits, and is offloaded":    {pod("offloaded", "", true, ""), nil, OK, "no pod needs virtual nodes", false},
		"waits for any node":         {pod("team", "", false, ""), nil, OK, "no pod needs virtual nodes", false},
		"on a virtual node":          {pod("team", "spillway-eu", true, v1alpha1.ReasonNamespaceNotOffloaded), nil, Warning, "they wait forever: 1 pod (team/web)", false},
		"in the mount namespace":     {pod("team", "spillway-eu", true, ""), nil, OK, "no pod needs virtual nodes", false},
		"Pods may not be read":       {pod("team", "", true, ""), &corev1.PodList{}, Warning, "you may not read Pods", false},
		"Offloadings may not either": {pod("team", "", true, ""), &v1alpha1.NamespaceOffloadingList{}, Warning, "you may not read NamespaceOffloadings", false},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{offloading, virtual, test.pod}
			if test.mounts {
				objects = append(objects, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{MountNamespace: "mounted"}})
			}
			e := &exam{run: &run{consumer: consumerOf(t, test.hidden, objects...)}}
			var err error
			if e.seen, err = status.Read(t.Context(), e.consumer, ""); err != nil {
				t.Fatal(err)
			}
			e.stranded()
			if len(e.findings) != 1 || e.findings[0].Level != test.level || !strings.Contains(e.findings[0].Message, test.want) {
				t.Errorf("got %+v", e.findings)
			}
		})
	}
}

// consumerOf returns a cluster with these objects. It forbids listing one kind; hidden may be nil.
func consumerOf(t *testing.T, hidden client.ObjectList, objects ...client.Object) *cli.Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	forbid := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if reflect.TypeOf(list) == reflect.TypeOf(hidden) {
			return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		}
		return c.List(ctx, list, options...)
	}}
	return &cli.Cluster{Name: "the consumer", WithWatch: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(forbid).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(pod client.Object) []string { return []string{pod.(*corev1.Pod).Spec.NodeName} }).Build()}
}

func TestStraysAreNamed(t *testing.T) {
	finding := ofStrays("team", []string{"a", "b", "c", "d", "e", "f", "g"})
	if finding.Level != Warning || !strings.HasSuffix(finding.Message, ": a, b, c, d, e, and 2 more") {
		t.Errorf("got %+v", finding)
	}
}
