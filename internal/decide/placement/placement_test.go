package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestNodeLabels(t *testing.T) {
	want := map[string]string{
		"kubernetes.io/hostname": "spillway-eu",
		"kubernetes.io/os":       "linux",
		"spillway.io/node-type":  "virtual",
		"spillway.io/cluster":    "eu",
		"node.kubernetes.io/exclude-from-external-load-balancers": "true",
		"region": "eu",
	}
	if diff := cmp.Diff(want, NodeLabels(builder.Binding("binding").ClusterID("eu").Label("region", "eu").Obj())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func terms(terms ...v1alpha1.ClusterSelectorTerm) *v1alpha1.ClusterSelector {
	return &v1alpha1.ClusterSelector{NodeSelectorTerms: terms}
}

func term(requirements ...v1alpha1.ClusterSelectorRequirement) v1alpha1.ClusterSelectorTerm {
	return v1alpha1.ClusterSelectorTerm{MatchExpressions: requirements}
}

func named(operator corev1.NodeSelectorOperator, name string) v1alpha1.ClusterSelectorTerm {
	return v1alpha1.ClusterSelectorTerm{MatchFields: []v1alpha1.ClusterFieldRequirement{{Key: "metadata.name", Operator: operator, Values: []string{name}}}}
}

func TestSelects(t *testing.T) {
	is := builder.Requirement
	binding := builder.Binding("binding").ClusterID("eu").Label("region", "eu").Label("cpus", "64").Obj()
	tests := map[string]struct {
		selector *v1alpha1.ClusterSelector
		want     bool
		fails    string
	}{
		"none":                             {nil, true, ""},
		"an empty one":                     {terms(), true, ""},
		"In":                               {terms(term(is("region", corev1.NodeSelectorOpIn, "us", "eu"))), true, ""},
		"In, another":                      {terms(term(is("region", corev1.NodeSelectorOpIn, "us"))), false, ""},
		"In, a label that is not there":    {terms(term(is("zone", corev1.NodeSelectorOpIn, "a"))), false, ""},
		"NotIn":                            {terms(term(is("region", corev1.NodeSelectorOpNotIn, "us"))), true, ""},
		"NotIn, this one":                  {terms(term(is("region", corev1.NodeSelectorOpNotIn, "eu"))), false, ""},
		"NotIn, a label that is not there": {terms(term(is("zone", corev1.NodeSelectorOpNotIn, "a"))), true, ""},
		"Exists":                           {terms(term(is("region", corev1.NodeSelectorOpExists))), true, ""},
		"Exists, but it does not":          {terms(term(is("zone", corev1.NodeSelectorOpExists))), false, ""},
		"DoesNotExist":                     {terms(term(is("zone", corev1.NodeSelectorOpDoesNotExist))), true, ""},
		"DoesNotExist, but it does":        {terms(term(is("region", corev1.NodeSelectorOpDoesNotExist))), false, ""},
		"Gt":                               {terms(term(is("cpus", corev1.NodeSelectorOpGt, "63"))), true, ""},
		"Gt, the same":                     {terms(term(is("cpus", corev1.NodeSelectorOpGt, "64"))), false, ""},
		"Lt":                               {terms(term(is("cpus", corev1.NodeSelectorOpLt, "65"))), true, ""},
		"Lt, the same":                     {terms(term(is("cpus", corev1.NodeSelectorOpLt, "64"))), false, ""},
		"Gt, a label that is no number":    {terms(term(is("region", corev1.NodeSelectorOpGt, "1"))), false, ""},
		"Gt, a label that is not there":    {terms(term(is("zone", corev1.NodeSelectorOpGt, "1"))), false, ""},
		"all requirements of a term":       {terms(term(is("region", corev1.NodeSelectorOpExists), is("cpus", corev1.NodeSelectorOpExists))), true, ""},
		"not all requirements of a term":   {terms(term(is("region", corev1.NodeSelectorOpExists), is("zone", corev1.NodeSelectorOpExists))), false, ""},
		"any term":                         {terms(term(is("zone", corev1.NodeSelectorOpExists)), term(is("region", corev1.NodeSelectorOpExists))), true, ""},
		"no term":                          {terms(term(is("zone", corev1.NodeSelectorOpExists)), term(is("rack", corev1.NodeSelectorOpExists))), false, ""},
		"an empty term selects nothing":    {terms(v1alpha1.ClusterSelectorTerm{}), false, ""},
		"the label of the clusterID":       {terms(term(is(v1alpha1.LabelCluster, corev1.NodeSelectorOpIn, "eu"))), true, ""},
		"the name of the node":             {terms(named(corev1.NodeSelectorOpIn, "spillway-eu")), true, ""},
		"another name":                     {terms(named(corev1.NodeSelectorOpIn, "spillway-us")), false, ""},
		"not the name of the node":         {terms(named(corev1.NodeSelectorOpNotIn, "spillway-eu")), false, ""},
		"not another name":                 {terms(named(corev1.NodeSelectorOpNotIn, "spillway-us")), true, ""},
		"an operator that there is not":    {terms(term(is("region", "Like", "eu"))), false, "clusterSelector is invalid: "},
		"Gt, and no number":                {terms(term(is("cpus", corev1.NodeSelectorOpGt, "many"))), false, "clusterSelector is invalid: "},
		"In, and no values":                {terms(term(is("region", corev1.NodeSelectorOpIn))), false, "clusterSelector is invalid: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Selects(test.selector, binding)
			if got != test.want || (err != nil) != (test.fails != "") {
				t.Fatalf("got %v, %v, want %v", got, err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), test.fails) {
				t.Errorf("got %q, want it to begin with %q", err, test.fails)
			}
		})
	}
}

func TestHolder(t *testing.T) {
	of := func(name, id string, after time.Duration) v1alpha1.ClusterBinding {
		return *builder.Binding(name).ClusterID(id).Created(after).Obj()
	}
	tests := map[string]struct {
		bindings []v1alpha1.ClusterBinding
		holder   string   // The holder of eu.
		usable   []string // All that hold their clusterID.
	}{
		"none":                             {nil, "", nil},
		"only others":                      {[]v1alpha1.ClusterBinding{of("b", "us", 0)}, "", []string{"b"}},
		"one":                              {[]v1alpha1.ClusterBinding{of("b", "eu", 0)}, "b", []string{"b"}},
		"the older":                        {[]v1alpha1.ClusterBinding{of("a", "eu", time.Hour), of("b", "eu", 0)}, "b", []string{"b"}},
		"the first by name, of one second": {[]v1alpha1.ClusterBinding{of("b", "eu", 0), of("a", "eu", 0)}, "a", []string{"a"}},
		"sorted by clusterID":              {[]v1alpha1.ClusterBinding{of("a", "us", 0), of("b", "eu", 0), of("c", "eu", 1)}, "b", []string{"b", "a"}},
		"one that is being deleted holds it still": {
			[]v1alpha1.ClusterBinding{*builder.Binding("a").ClusterID("eu").Deleted(time.Minute).Obj(), of("b", "eu", time.Second)}, "a", []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := NewIndex(test.bindings)
			if got := all.Holder("eu"); got != test.holder {
				t.Errorf("the holder is %q, want %q", got, test.holder)
			}
			var usable []string
			for _, b := range all.Usable() {
				usable = append(usable, b.Name)
				if holder := all.Holder(b.Spec.ClusterID); holder != b.Name {
					t.Errorf("%s is usable, but %s holds its clusterID", b.Name, holder)
				}
			}
			if diff := cmp.Diff(test.usable, usable); diff != "" {
				t.Errorf("usable (-want +got)\n%s", diff)
			}
		})
	}
}
