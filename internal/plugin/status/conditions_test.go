package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// TestConditionsOfBindings: each problem of a binding is shown, whether or not the binding is Ready. doctor
// has a finding for each.
func TestConditionsOfBindings(t *testing.T) {
	alarms := map[string]bool{"Limited": true, "ClockSkewed": true, "WritesRefused": true, "VersionSkew": true, "ProviderShared": true}
	types := typesOfBindings(t)
	if len(types) < 15 {
		t.Fatalf("there are %v", types)
	}
	for _, kind := range types {
		right, wrong := metav1.ConditionTrue, metav1.ConditionFalse
		if alarms[kind] {
			right, wrong = wrong, right
		}
		for _, ready := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
			shows := func(status metav1.ConditionStatus) bool {
				binding := v1alpha1.ClusterBinding{}
				conditions.Set(&binding.Status.Conditions, 0, conditions.New("Ready", ready, "Whatever", "it says"))
				conditions.Set(&binding.Status.Conditions, 0, conditions.New(kind, status, "Because", "of that"))
				for _, wait := range Tree(Seen{Bindings: []v1alpha1.ClusterBinding{binding}}).Bindings[0].Waits {
					if wait.Type == kind && wait.Reason == "Because" && wait.Message == "of that" {
						return true
					}
				}
				return false
			}
			if !shows(wrong) || shows(right) {
				t.Errorf("%s %s is shown: %v, %s: %v", kind, wrong, shows(wrong), right, shows(right))
			}
		}
	}
}

// typesOfBindings returns the values of all constants Binding... of the API.
func typesOfBindings(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../../api/v1alpha1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Binding") || len(spec.Values) == 0 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				types = append(types, value)
			}
			return true
		})
	}
	return types
}

// TestSummary: what the summary repeats is shown once, and conditions that are Unknown because of it are not
// shown.
func TestSummary(t *testing.T) {
	binding := v1alpha1.ClusterBinding{}
	for _, c := range []metav1.Condition{
		condition("Ready", "False", "DuplicateClusterID", "of b"), condition("Network", "Unknown", "DuplicateClusterID", "not checked"),
		condition("VirtualNodeReady", "False", "DuplicateClusterID", "no node"),
	} {
		conditions.Set(&binding.Status.Conditions, 0, c)
	}
	waits := Tree(Seen{Bindings: []v1alpha1.ClusterBinding{binding}}).Bindings[0].Waits
	if len(waits) != 2 || waits[0].Message != "of b" || waits[1].Message != "no node" {
		t.Errorf("got %v", waits)
	}
}

func TestStateOf(t *testing.T) {
	with := func(phase v1alpha1.OffloadingPhase, generation int64, status metav1.ConditionStatus) *v1alpha1.NamespaceOffloading {
		o := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		o.Status.OffloadingPhase = phase
		conditions.Set(&o.Status.Conditions, generation, conditions.New("Ready", status, string(phase), "because"))
		o.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{{Cluster: "eu", Conditions: []metav1.Condition{conditions.New("Ready", status, "NameConflict", "")}}}
		return o
	}
	tests := map[string]struct {
		offloading   *v1alpha1.NamespaceOffloading
		ready, stuck bool
		want         string
	}{
		"nobody has seen it":   {&v1alpha1.NamespaceOffloading{}, false, false, "has not seen it"},
		"of an earlier spec":   {with(v1alpha1.OffloadingPhaseReady, 1, metav1.ConditionTrue), false, false, "has not seen it"},
		"ready":                {with(v1alpha1.OffloadingPhaseReady, 2, metav1.ConditionTrue), true, false, ""},
		"on its way":           {with(v1alpha1.OffloadingPhaseInProgress, 2, metav1.ConditionFalse), false, false, "InProgress: because; in eu: NameConflict"},
		"nothing is selected":  {with(v1alpha1.OffloadingPhaseNoClusterSelected, 2, metav1.ConditionFalse), false, true, "NoClusterSelected"},
		"never offloaded":      {with(v1alpha1.OffloadingPhaseRefused, 2, metav1.ConditionFalse), false, true, "Refused"},
		"some are not created": {with(v1alpha1.OffloadingPhaseSomeFailed, 2, metav1.ConditionFalse), false, false, "SomeFailed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			state := StateOf(test.offloading)
			if state.Ready != test.ready || state.Stuck != test.stuck || !strings.Contains(state.String(), test.want) {
				t.Errorf("got %+v, %s", state, state)
			}
		})
	}
}
