package namespaceoffloading

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var settings = Settings{ConsumerID: "c", ManagerNamespace: "spillway-system"}

// TestNothingToWaitFor deletes offloadings while a provider is away whose map has changed since it was last
// processed.
func TestNothingToWaitFor(t *testing.T) {
	away := builder.Binding("us").Pinned("us").Unreachable("no route to host").Obj()
	for name, test := range map[string]struct {
		namespace string
		nsm       *builder.MapBuilder
		pods      int
		want      bool
	}{
		"nothing was asked for":          {"team", builder.Map("us").Desired("other", "x"), 0, true},
		"refused":                        {"kube-system", builder.Map("us").Desired("other", "x"), 0, true},
		"asked for":                      {"team", builder.Map("us").Desired("team", "team-c"), 0, false},
		"it is there":                    {"team", builder.Map("us").Current("team", "team-c", v1alpha1.MappingTerminating, "", ""), 0, false},
		"refused later, and it is there": {"kube-system", builder.Map("us").Current("kube-system", "x", v1alpha1.MappingTerminating, "", ""), 0, false},
		"refused, and there are pods":    {"kube-system", builder.Map("us"), 1, false},
		"pods alone":                     {"team", builder.Map("us"), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			world := Providers{Bindings: placement.NewIndex([]v1alpha1.ClusterBinding{*away}), Maps: []v1alpha1.NamespaceMap{*test.nsm.Unobserved().Obj()},
				Pods: map[string]eviction.Remaining{"us": {Count: test.pods}}}
			s := Observe(builder.Offloading(test.namespace).Deleted(0).Obj(), world, settings, builder.Epoch)
			if got, _ := Removable(s); got != test.want {
				t.Errorf("the finalizer may go: %v; it waits for %v", got, s.Clusters)
			}
		})
	}
}

// TestForgottenVolumes deletes an offloading after somebody has deleted the NamespaceMap. Until the next one says which
// remote namespaces there are, the volumes that the consumer knows of count.
func TestForgottenVolumes(t *testing.T) {
	for name, test := range map[string]struct {
		nsm    *builder.MapBuilder
		claims []string
		want   bool
	}{
		"no map":                       {nil, []string{"team-c/data"}, false},
		"no map, and no volume":        {nil, nil, true},
		"no map, and others' volumes":  {nil, []string{"team-c-2/data", "spillway/data"}, true},
		"a map without a report":       {builder.Map("eu").Untouched(), []string{"team-c/data"}, false},
		"the map says that it is gone": {builder.Map("eu"), []string{"team-c/data"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			world := Providers{Bindings: placement.NewIndex([]v1alpha1.ClusterBinding{*builder.Binding("eu").Pinned("eu").Connected().Obj()}), Recorded: map[string][]string{"eu": test.claims}}
			if test.nsm != nil {
				world.Maps = []v1alpha1.NamespaceMap{*test.nsm.Obj()}
			}
			s := Observe(builder.Offloading("team").Deleted(0).Obj(), world, settings, builder.Epoch)
			if got, _ := Removable(s); got != test.want {
				t.Errorf("the finalizer may go: %v; it waits for %v", got, s.Clusters)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	inEU := builder.Requirement("region", corev1.NodeSelectorOpIn, "eu")
	eu := func() *builder.BindingBuilder {
		return builder.Binding("eu").Label("region", "eu").Pinned("eu").Authorities("ca").Connected()
	}
	us := func() *builder.BindingBuilder {
		return builder.Binding("us").Label("region", "us").Pinned("us").Authorities("ca").Connected()
	}
	accepted := func(name, remote string) *v1alpha1.NamespaceMap {
		return builder.Map(name).Accepted("team", remote).Obj()
	}
	entry := func(remote string) *v1alpha1.CurrentMapping {
		return &accepted("x", remote).Status.CurrentMapping[0]
	}
	tests := map[string]struct {
		nso      *builder.OffloadingBuilder
		bindings []*builder.BindingBuilder
		maps     []*v1alpha1.NamespaceMap
		want     Snapshot
	}{
		"no bindings": {builder.Offloading("team"), nil, nil, Snapshot{RemoteName: "team-c"}},
		"selected, and nothing is there": {
			builder.Offloading("team"), []*builder.BindingBuilder{us(), eu()}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}, {ClusterID: "us", Selected: true, RemoteNamespace: "team-c"}}}},
		"not selected, and nothing is there": {
			builder.Offloading("team").Selector(inEU), []*builder.BindingBuilder{us()}, nil, Snapshot{RemoteName: "team-c"}},
		"selected and there": {
			builder.Offloading("team").Selector(inEU), []*builder.BindingBuilder{eu(), us()}, []*v1alpha1.NamespaceMap{accepted("eu", "team-c")},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, Desired: true, RemoteNamespace: "team-c", Current: entry("team-c")}}}},
		"not selected any more, and there": {
			builder.Offloading("team").Selector(inEU), []*builder.BindingBuilder{us()}, []*v1alpha1.NamespaceMap{accepted("us", "team-c")},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "us", Desired: true, RemoteNamespace: "team-c", Current: entry("team-c")}}}},
		"entries of other namespaces are none of ours": {
			builder.Offloading("team").Selector(inEU), []*builder.BindingBuilder{us()}, []*v1alpha1.NamespaceMap{builder.Map("us").Accepted("other", "x").Obj()}, Snapshot{RemoteName: "team-c"}},
		"made under another consumer id": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu()}, []*v1alpha1.NamespaceMap{accepted("eu", "team-old")},
			Snapshot{RemoteName: "team-old", Clusters: []Cluster{{ClusterID: "eu", Selected: true, Desired: true, RemoteNamespace: "team-old", Current: entry("team-old")}}}},
		"the binding is being deleted": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu().Deleted(0)}, []*v1alpha1.NamespaceMap{accepted("eu", "team-c")},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Leaving: "eu", Desired: true, RemoteNamespace: "team-c", Current: entry("team-c")}}}},
		"the binding is being deleted, and its namespaces are gone": {
			builder.Offloading("team").Selector(inEU), []*builder.BindingBuilder{eu().Deleted(0), us().Deleted(0)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Leaving: "eu", RemoteNamespace: "team-c"}}}},
		"a duplicate is none": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu(), builder.Binding("eu-2").ClusterID("eu").Created(time.Hour)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}}}},
		"a younger binding of the same provider is not selected beside the older one": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu(), us().Pinned("eu").Created(time.Hour)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}}}},
		"it is, where the older one only says that it is of the same": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu().Authorities("its own"), us().Pinned("eu").Created(time.Hour)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}, {ClusterID: "us", Selected: true, RemoteNamespace: "team-c"}}}},
		"unless the remote namespace is there already": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu(), us().Pinned("eu").Created(time.Hour)}, []*v1alpha1.NamespaceMap{accepted("us", "team-c")},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"},
				{ClusterID: "us", Selected: true, Desired: true, RemoteNamespace: "team-c", Current: entry("team-c")}}}},
		"it is, where the older one is not": {
			builder.Offloading("team").Selector(builder.Requirement("region", corev1.NodeSelectorOpIn, "us")), []*builder.BindingBuilder{eu(), us().Pinned("eu").Created(time.Hour)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "us", Selected: true, RemoteNamespace: "team-c"}}}},
		"or where the older one goes": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu().Deleted(0), us().Pinned("eu").Created(time.Hour)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Leaving: "eu", RemoteNamespace: "team-c"}, {ClusterID: "us", Selected: true, RemoteNamespace: "team-c"}}}},
		"the map has not been looked at since": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu()}, []*v1alpha1.NamespaceMap{builder.Map("eu").Desired("team", "team-c").Unobserved().Obj()},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, Desired: true, RemoteNamespace: "team-c"}}}},
		"the map has not been looked at, by a provider that was never connected": {
			builder.Offloading("team"), []*builder.BindingBuilder{builder.Binding("eu")}, []*v1alpha1.NamespaceMap{builder.Map("eu").Desired("team", "team-c").Unobserved().Obj()},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, Desired: true, RemoteNamespace: "team-c"}}}},
		"deleted: what is asked for, and not answered": {
			builder.Offloading("team").Deleted(0), []*builder.BindingBuilder{eu()}, []*v1alpha1.NamespaceMap{builder.Map("eu").Desired("team", "team-c").Unobserved().Obj()},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, Desired: true, RemoteNamespace: "team-c"}}}},
		"deleted: for a map that was never begun, nothing was made": {
			builder.Offloading("team").Deleted(0), []*builder.BindingBuilder{eu()}, []*v1alpha1.NamespaceMap{builder.Map("eu").Untouched().Obj()},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}}}},
		"deleted: a map that has changed for others makes no difference, though it is selected": {
			builder.Offloading("team").Deleted(0), []*builder.BindingBuilder{eu()}, []*v1alpha1.NamespaceMap{builder.Map("eu").Desired("other", "x").Unobserved().Obj()},
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}}}},
		"deleted: a map that it never had to do with makes no difference": {
			builder.Offloading("team").Selector(inEU).Deleted(0), []*builder.BindingBuilder{us()}, []*v1alpha1.NamespaceMap{builder.Map("us").Unobserved().Obj()}, Snapshot{RemoteName: "team-c"}},
		"out of reach, with a time to wait": {
			builder.Offloading("team"), []*builder.BindingBuilder{eu().Unreachable("no route to host").DeletionTimeout(time.Minute)}, nil,
			Snapshot{RemoteName: "team-c", Clusters: []Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c", Unreachable: "Unreachable: no route to host",
				Away: v1alpha1.ReasonUnreachable, AwaySince: builder.Epoch, DeletionTimeout: time.Minute}}}},
		"a namespace of the cluster": {
			builder.Offloading("kube-system"), []*builder.BindingBuilder{eu()}, nil,
			Snapshot{RemoteName: "kube-system-c", Refusal: "namespace kube-system is a system namespace and is never offloaded"}},
		"a selector that cannot be understood": {
			builder.Offloading("team").Selector(builder.Requirement("region", "Like", "eu")), []*builder.BindingBuilder{eu(), us()}, []*v1alpha1.NamespaceMap{accepted("eu", "team-c")},
			Snapshot{RemoteName: "team-c", Refusal: "clusterSelector is invalid: ", Clusters: []Cluster{{ClusterID: "eu", Desired: true, RemoteNamespace: "team-c", Current: entry("team-c")}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var bindings []v1alpha1.ClusterBinding
			for _, b := range test.bindings {
				bindings = append(bindings, *b.Obj())
			}
			var maps []v1alpha1.NamespaceMap
			for _, m := range test.maps {
				maps = append(maps, *m)
			}
			test.want.Offloading, test.want.Now = test.nso.Obj(), builder.Epoch
			got := Observe(test.nso.Obj(), Providers{Bindings: placement.NewIndex(bindings), Maps: maps}, settings, builder.Epoch)
			if n := len(test.want.Refusal); n < len(got.Refusal) && n > 0 { // The rest of the message comes from the library.
				got.Refusal = got.Refusal[:n]
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPodsAreObserved(t *testing.T) {
	left := eviction.Remaining{Count: 2, Names: []string{"team/a", "team/b"}}
	bindings := []v1alpha1.ClusterBinding{*builder.Binding("eu").Label("region", "eu").Connected().Obj(), *builder.Binding("us").Connected().Obj()}
	inEU := builder.Requirement("region", corev1.NodeSelectorOpIn, "eu")
	tests := map[string]struct {
		nso  *builder.OffloadingBuilder
		maps []v1alpha1.NamespaceMap
		want []Cluster
	}{
		"deleted: on the virtual node of one that was never asked for anything": {
			builder.Offloading("team").Selector(inEU).Deleted(0), nil,
			[]Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}, {ClusterID: "us", RemoteNamespace: "team-c", Pods: left}}},
		"not selected any more": {
			builder.Offloading("team").Selector(inEU), []v1alpha1.NamespaceMap{*builder.Map("us").Desired("team", "team-c").Obj()},
			[]Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}, {ClusterID: "us", Desired: true, RemoteNamespace: "team-c", Pods: left}}},
		"never selected": {
			builder.Offloading("team").Selector(inEU), nil,
			[]Cluster{{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Observe(test.nso.Obj(), Providers{Bindings: placement.NewIndex(bindings), Maps: test.maps, Pods: map[string]eviction.Remaining{"us": left}}, settings, builder.Epoch)
			if diff := cmp.Diff(test.want, got.Clusters, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	tests := map[string]struct {
		binding *builder.BindingBuilder
		want    string
	}{
		"nothing is known yet":   {builder.Binding("eu"), ""},
		"connected":              {builder.Binding("eu").Connected(), ""},
		"being connected":        {builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "x"), ""},
		"unreachable":            {builder.Binding("eu").Unreachable("no route to host"), "Unreachable: no route to host"},
		"paused":                 {builder.Binding("eu").Connected().Paused(), "the platform engineer has paused provider eu (spec.paused of its ClusterBinding)"},
		"credentials are wrong":  {builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonCredentialsInvalid, "see the condition CredentialsValid").Condition(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound, "there is no Secret"), "SecretNotFound: there is no Secret"},
		"credentials, no detail": {builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonCredentialsInvalid, "see"), "CredentialsInvalid: see"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Unreachable(test.binding.Obj()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	team := func() *builder.OffloadingBuilder { return builder.Offloading("team") }
	asked := func(remote string, byDefault bool) *namespacemap.Wanted {
		return &namespacemap.Wanted{Namespace: "team", RemoteNamespace: remote, Default: byDefault, Created: builder.Epoch}
	}
	tests := map[string]struct {
		nso   *builder.OffloadingBuilder
		held  bool
		want  *namespacemap.Wanted
		asked bool
	}{
		"by default":                              {team(), false, asked("team-c", true), false},
		"the same name":                           {team().Mapping(v1alpha1.MappingEnforceSameName, ""), false, asked("team", false), false},
		"a selected name":                         {team().Mapping(v1alpha1.MappingSelectedName, "other"), false, asked("other", false), false},
		"not before its finalizer":                {team().Finalizers(), false, nil, false},
		"not for another finalizer":               {team().Finalizers("example.com/other"), false, nil, false},
		"its finalizer is removed":                {team().Finalizers(), false, asked("team-c", true), true},
		"removed, and then it is deleted":         {team().Finalizers("example.com/other").Deleted(0), false, nil, true},
		"removed and deleted, something holds it": {team().Finalizers("example.com/other").Deleted(0), true, asked("team-c", true), true},
		"removed, and it selects something else":  {team().Finalizers().Selector(builder.Requirement("region", corev1.NodeSelectorOpIn, "us")), false, nil, true},
		"deleted, while something holds it":       {team().Deleted(0), true, asked("team-c", true), false},
		"deleted":                                 {team().Deleted(0), false, nil, false},
		"selected":                                {team().Selector(builder.Requirement("region", corev1.NodeSelectorOpIn, "eu")), false, asked("team-c", true), false},
		"not selected, while something holds it":  {team().Selector(builder.Requirement("region", corev1.NodeSelectorOpIn, "us")), true, asked("team-c", true), false},
		"not selected":                            {team().Selector(builder.Requirement("region", corev1.NodeSelectorOpIn, "us")), false, nil, false},
		"a selector that makes no sense":          {team().Selector(builder.Requirement("region", "Like", "eu")), false, nil, false},
		"a namespace of the cluster":              {builder.Offloading("kube-system"), false, nil, false},
		"the manager's own namespace":             {builder.Offloading("spillway-system"), false, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Wanted(test.nso.Obj(), builder.Binding("eu").Label("region", "eu").Obj(), test.asked, test.held, settings)
			if ok != (test.want != nil) {
				t.Fatalf("wanted: %v", ok)
			}
			if ok && got != *test.want {
				t.Errorf("got %v, want %v", got, *test.want)
			}
		})
	}
}
