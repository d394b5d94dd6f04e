package v1alpha1_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestGoTypes creates objects as a Go program does, and checks that unset fields are not sent.
func TestGoTypes(t *testing.T) {
	binding := func(change func(*v1alpha1.ClusterBinding)) *v1alpha1.ClusterBinding {
		b := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
		b.Spec.ClusterID = "eu"
		b.Spec.KubeconfigSecretRef.Name = "eu-kubeconfig"
		change(b)
		return b
	}
	offloading := func(change func(*v1alpha1.NamespaceOffloading)) *v1alpha1.NamespaceOffloading {
		o := &v1alpha1.NamespaceOffloading{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: v1alpha1.OffloadingName},
		}
		change(o)
		return o
	}
	tests := map[string]client.Object{
		"ClusterBinding, the least": binding(func(*v1alpha1.ClusterBinding) {}),
		"ClusterBinding with a timeout": binding(func(b *v1alpha1.ClusterBinding) {
			b.Spec.Unreachable.DeletionTimeout = &metav1.Duration{Duration: 90 * time.Minute}
		}),
		"ClusterBinding with a very long timeout": binding(func(b *v1alpha1.ClusterBinding) {
			b.Spec.Unreachable.DeletionTimeout = &metav1.Duration{Duration: 100 * 365 * 24 * time.Hour}
		}),
		"ClusterBinding with a taint": binding(func(b *v1alpha1.ClusterBinding) {
			b.Spec.VirtualNode.Taints = []v1alpha1.VirtualNodeTaint{{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
		}),
		"NamespaceOffloading, the least": offloading(func(*v1alpha1.NamespaceOffloading) {}),
		"NamespaceOffloading with an empty selector": offloading(func(o *v1alpha1.NamespaceOffloading) {
			o.Spec.ClusterSelector = &v1alpha1.ClusterSelector{}
		}),
		"NamespaceOffloading with a selector": offloading(func(o *v1alpha1.NamespaceOffloading) {
			o.Spec.ClusterSelector = &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{
				MatchExpressions: []v1alpha1.ClusterSelectorRequirement{
					{Key: "region", Operator: corev1.NodeSelectorOpExists},
				},
			}}}
		}),
		"NamespaceMap, the least": &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: "eu"}},
	}
	for name, object := range tests {
		t.Run(name, func(t *testing.T) {
			if err := server.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestColumns compares the table that kubectl get prints.
func TestColumns(t *testing.T) {
	ready := []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, LastTransitionTime: metav1.Now(),
	}}
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "provider-eu"}}
	binding.Spec.ClusterID = "eu"
	binding.Spec.KubeconfigSecretRef.Name = "eu-kubeconfig"
	bindingStatus := v1alpha1.ClusterBindingStatus{
		Conditions: append([]metav1.Condition{
			{Type: "Network", Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCIDROverlap, LastTransitionTime: metav1.Now()},
			{Type: "ProviderShared", Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonProviderSharedWith, LastTransitionTime: metav1.Now()},
		}, ready...),
		KubernetesVersion: "v1.36.3",
		Namespaces:        v1alpha1.NamespaceCounts{Ready: ptr.To[int32](1), Desired: ptr.To[int32](2), Summary: "1/2"},
	}
	offloading := &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: v1alpha1.OffloadingName},
	}
	offloadingStatus := v1alpha1.NamespaceOffloadingStatus{
		Conditions: append(slices.Clone(ready), metav1.Condition{
			Type: v1alpha1.OffloadingProvidersReachable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonProviderUnreachable, LastTransitionTime: metav1.Now(),
		}),
		OffloadingPhase: v1alpha1.OffloadingPhaseReady, RemoteNamespaceName: "default-c1",
	}
	nsmap := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{
		Name: "provider-eu", Labels: map[string]string{v1alpha1.LabelCluster: "eu"},
	}}
	mapStatus := v1alpha1.NamespaceMapStatus{
		Desired: ptr.To[int32](3), Ready: ptr.To[int32](2), Failed: ptr.To[int32](1),
	}
	tests := map[string]struct {
		object    client.Object
		setStatus func()
		resource  string
		columns   []string
		cells     []any
	}{
		"ClusterBinding": {
			object:    binding,
			setStatus: func() { binding.Status = bindingStatus },
			resource:  "clusterbindings/provider-eu",
			columns: []string{"NAME", "CLUSTER ID", "READY", "REASON", "VERSION", "NAMESPACES",
				"NETWORK (wide)", "FENCED (wide)", "LIMITED (wide)", "SHARED (wide)", "DRAINED (wide)", "AGE"},
			cells: []any{"provider-eu", "eu", "True", "Ready", "v1.36.3", "1/2", "CIDROverlap", nil, nil, "ProviderSharedWith", nil},
		},
		"NamespaceOffloading": {
			object:    offloading,
			setStatus: func() { offloading.Status = offloadingStatus },
			resource:  "namespaces/default/namespaceoffloadings/offloading",
			columns:   []string{"NAME", "MAPPING", "PODS", "PHASE", "REACHABLE", "REMOTE NAMESPACE (wide)", "AGE"},
			cells:     []any{"offloading", "DefaultName", "LocalAndRemote", "Ready", "False", "default-c1"},
		},
		"NamespaceMap": {
			object:    nsmap,
			setStatus: func() { nsmap.Status = mapStatus },
			resource:  "namespacemaps/provider-eu",
			columns:   []string{"NAME", "CLUSTER ID", "DESIRED", "READY", "FAILED", "AGE"},
			cells:     []any{"provider-eu", "eu", float64(3), float64(2), float64(1)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := server.Create(t.Context(), test.object); err != nil {
				t.Fatal(err)
			}
			defer remove(t, test.object)
			test.setStatus()
			if err := server.Status().Update(t.Context(), test.object); err != nil {
				t.Fatal(err)
			}
			table := getTable(t, test.resource)
			if diff := cmp.Diff(test.columns, headings(table)); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			// The last cell is the age.
			cells := table.Rows[0].Cells
			got := cells[:len(cells)-1]
			if diff := cmp.Diff(test.cells, got); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

func getTable(t *testing.T, resource string) *metav1.Table {
	t.Helper()
	data, err := kubernetes.NewForConfigOrDie(config).RESTClient().Get().
		AbsPath("/apis/"+v1alpha1.GroupVersion.String()+"/"+resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	return &table
}

// headings returns the headings as kubectl prints them.
func headings(table *metav1.Table) []string {
	var names []string
	for _, column := range table.ColumnDefinitions {
		name := strings.ToUpper(column.Name)
		if column.Priority > 0 {
			name += " (wide)"
		}
		names = append(names, name)
	}
	return names
}

func TestNamesOfKinds(t *testing.T) {
	resources, err := discovery.NewDiscoveryClientForConfigOrDie(config).
		ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	type names struct {
		ShortNames []string
		Namespaced bool
		Status     bool
	}
	got := map[string]names{}
	for _, r := range resources.APIResources {
		name, subresource, _ := strings.Cut(r.Name, "/")
		n := got[name]
		if subresource == "status" {
			n.Status = true
		} else {
			n.ShortNames, n.Namespaced = r.ShortNames, r.Namespaced
			if !slices.Equal(r.Categories, []string{"spillway"}) {
				t.Errorf("%s: categories %v, want spillway", name, r.Categories)
			}
		}
		got[name] = n
	}
	want := map[string]names{
		"clusterbindings":      {ShortNames: []string{"cb"}, Status: true},
		"namespaceoffloadings": {ShortNames: []string{"nso"}, Status: true, Namespaced: true},
		"namespacemaps":        {ShortNames: []string{"nsm"}, Status: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
