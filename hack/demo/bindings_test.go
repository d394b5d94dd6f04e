package main

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

// TestSetBack changes the spec of the demo's bindings as a user does who tries things.
func TestSetBack(t *testing.T) {
	shipped := bindingsOf(t)
	changed := shipped[0].DeepCopy()
	if err := yaml.Unmarshal([]byte(`
metadata: {labels: {mine: "yes"}, finalizers: [example.com/mine]}
spec:
  paused: true
  budget: {memory: 8Mi}
  network: {mode: Routed, podCIDRs: [10.0.0.0/24]}
  unreachable: {deletionTimeout: 5s}
  virtualNode: {capacity: {cpu: "1"}, labels: {mine: "yes"}}
`), changed); err != nil {
		t.Fatal(err)
	}
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{consumer: fake.NewClientBuilder().WithScheme(scheme).WithObjects(changed, &shipped[1]).Build()}
	if err := d.setBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range shipped {
		got := &offloadingv1alpha1.ClusterBinding{}
		if err := d.consumer.Get(t.Context(), client.ObjectKey{Name: want.Name}, got); err != nil {
			t.Fatal(err)
		}
		if text(t, got.Spec) != text(t, want.Spec) {
			t.Errorf("%s: the spec is %s, want %s", want.Name, text(t, got.Spec), text(t, want.Spec))
		}
		if got.Name == changed.Name && (got.Labels["mine"] != "yes" || len(got.Finalizers) != 1) {
			t.Errorf("what is not of the spec should stay: %v, %v", got.Labels, got.Finalizers)
		}
	}
}

func TestGrantTakeOver(t *testing.T) {
	const command = "If only this cluster should continue: kubectl annotate --overwrite clusterbinding us spillway.io/take-over="
	for name, test := range map[string]struct {
		reason, message, was string
		want                 bool
		annotation           string
	}{
		"asked for":               {offloadingv1alpha1.ReasonTakeOverNeeded, command + "12", "", true, "12"},
		"asked for, of two ways":  {offloadingv1alpha1.ReasonTakeOverNeeded, command + "12; … --all spillway.io/take-over=1host_uid", "", true, "12"},
		"asked for again":         {offloadingv1alpha1.ReasonTakeOverNeeded, command + "13", "12", true, "13"},
		"granted, and not yet so": {offloadingv1alpha1.ReasonTakeOverNeeded, command + "12", "12", false, "12"},
		"another reason":          {offloadingv1alpha1.ReasonHeldByAnother, command + "12", "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cb := &offloadingv1alpha1.ClusterBinding{}
			if test.was != "" {
				cb.Annotations = map[string]string{offloadingv1alpha1.AnnotationTakeOver: test.was}
			}
			cb.Status.Conditions = []metav1.Condition{{Type: offloadingv1alpha1.BindingReady, Reason: test.reason, Message: test.message}}
			if got := grantTakeOver(cb); got != test.want || cb.Annotations[offloadingv1alpha1.AnnotationTakeOver] != test.annotation {
				t.Errorf("it changes: %t, annotations %v", got, cb.Annotations)
			}
		})
	}
}

// TestPodRangesDiffer compares the ranges with each other, and with the ranges in the printed text.
func TestPodRangesDiffer(t *testing.T) {
	d, seen := &demo{}, map[string]string{}
	for _, name := range clusterNames {
		pods := d.options(name).PodCIDR
		if other, ok := seen[pods]; ok || pods == "" {
			t.Errorf("the pods of %s have the range %q, as those of %q", name, pods, other)
		}
		seen[pods] = name
	}
	if text := d.howToGoOn(); !strings.Contains(text, `"podCIDRs":["`+d.options("eu").PodCIDR+`"]`) {
		t.Errorf("the range of eu is not in\n%s", text)
	}
}

// TestOneKubeconfigIsSet reads the printed text from start to end.
func TestOneKubeconfigIsSet(t *testing.T) {
	var exports []string
	for line := range strings.SplitSeq((&demo{}).howToGoOn(), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "export KUBECONFIG=") {
			exports = append(exports, line)
		}
	}
	if len(exports) != 1 || !strings.Contains(exports[0], "consumer.kubeconfig") {
		t.Errorf("the commands below are for the consumer; set is %q", exports)
	}
}

func bindingsOf(t *testing.T) []offloadingv1alpha1.ClusterBinding {
	t.Helper()
	raw, err := samples.ReadFile(bindingsFile)
	if err != nil {
		t.Fatal(err)
	}
	found, err := bindingsIn(raw)
	if err != nil || len(found) != len(providers) {
		t.Fatalf("%d bindings for %d providers: %v", len(found), len(providers), err)
	}
	return found
}

func text(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
