package leavingpods

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
)

var gone = ptr.To(metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))

func offloading(edits ...func(*v1alpha1.NamespaceOffloading)) *v1alpha1.NamespaceOffloading {
	nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: v1alpha1.OffloadingName}}
	for _, edit := range edits {
		edit(nso)
	}
	return nso
}

func deleted(nso *v1alpha1.NamespaceOffloading) { nso.DeletionTimestamp = gone }

// elsewhere makes an offloading select no binding of this test.
func elsewhere(nso *v1alpha1.NamespaceOffloading) {
	nso.Spec.ClusterSelector = &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{
		MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: "region", Operator: corev1.NodeSelectorOpIn, Values: []string{"us"}}},
	}}}
}

func binding(edits ...func(*v1alpha1.ClusterBinding)) *v1alpha1.ClusterBinding {
	cb := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
	for _, edit := range edits {
		edit(cb)
	}
	return cb
}

func drained(cb *v1alpha1.ClusterBinding) { cb.DeletionTimestamp = gone }

func orphaned(cb *v1alpha1.ClusterBinding) {
	cb.DeletionTimestamp, cb.Spec.DeletionPolicy = gone, v1alpha1.DeletionPolicyOrphan
}

func mounts(cb *v1alpha1.ClusterBinding) { cb.Spec.MountNamespace = "guests" }

func TestReports(t *testing.T) {
	none := &v1alpha1.NamespaceMap{}
	desired := &v1alpha1.NamespaceMap{Spec: v1alpha1.NamespaceMapSpec{DesiredMapping: []v1alpha1.DesiredMapping{{Namespace: "team"}}}}
	current := &v1alpha1.NamespaceMap{Status: v1alpha1.NamespaceMapStatus{CurrentMapping: []v1alpha1.CurrentMapping{{Namespace: "team"}}}}
	for name, test := range map[string]struct {
		nso     *v1alpha1.NamespaceOffloading
		binding *v1alpha1.ClusterBinding
		nsm     *v1alpha1.NamespaceMap
		want    bool
	}{
		"selected and mapped":                      {offloading(), binding(), desired, false},
		"selected and not mapped":                  {offloading(), binding(), none, false},
		"deleted and mapped":                       {offloading(deleted), binding(), desired, true},
		"deleted, and the entry has gone":          {offloading(deleted), binding(), current, true},
		"deleted and not mapped":                   {offloading(deleted), binding(), none, false},
		"deleted, and there is no map":             {offloading(deleted), binding(mounts), nil, false},
		"deleted, not mapped, and pods may be":     {offloading(deleted), binding(mounts), none, true},
		"selected, not mapped, and pods may be":    {offloading(), binding(mounts), none, false},
		"not selected and mapped":                  {offloading(elsewhere), binding(), desired, true},
		"not selected, and the entry has gone":     {offloading(elsewhere), binding(), current, true},
		"not selected and not mapped":              {offloading(elsewhere), binding(mounts), none, false},
		"of a binding that is drained":             {offloading(), binding(drained), desired, true},
		"of a binding that is drained, not mapped": {offloading(), binding(drained, mounts), none, false},
		"of a binding that leaves all as it is":    {offloading(), binding(orphaned), desired, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Reports(test.nso, test.binding, Mapped(test.nsm)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestStatusIsReadAsItWasWritten(t *testing.T) {
	left := map[string]eviction.Remaining{
		"team":  {Count: 2, Names: []string{"team/a", "team/b"}, Refused: []string{"team/a: a budget"}},
		"other": {},
	}
	nsm := &v1alpha1.NamespaceMap{Status: v1alpha1.NamespaceMapStatus{LeavingPods: Status(left)}}
	if len(nsm.Status.LeavingPods) != 2 || nsm.Status.LeavingPods[0].Namespace != "other" || *nsm.Status.LeavingPods[0].Count != 0 {
		t.Errorf("it is %+v", nsm.Status.LeavingPods)
	}
	for namespace, want := range left {
		got, said := Of(nsm, namespace)
		if diff := cmp.Diff(want, got); diff != "" || !said {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}
	if _, said := Of(nsm, "nobody"); said {
		t.Error("it says something of nobody")
	}
}

func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	status := Status(map[string]eviction.Remaining{"team": {Count: 1, Names: []string{long}, Refused: []string{long}}})
	if names, refused := len([]rune(status[0].Names[0])), len([]rune(status[0].Refused[0])); names != 317 || refused != 1024 {
		t.Errorf("%d and %d characters", names, refused)
	}
}

// TestAStatusFitsIntoAnObject checks that a status fits whatever pods are called, and why they may not be
// evicted. etcd accepts 1.5 MiB, and the entries of 3,000 namespaces need the larger part of it.
func TestAStatusFitsIntoAnObject(t *testing.T) {
	const namespaces, fits = 3000, 600 << 10
	long := eviction.Remaining{Count: 9}
	for i := range 5 {
		long.Names = append(long.Names, fmt.Sprint(i, strings.Repeat("n", 316)))
	}
	for i := range 3 {
		long.Refused = append(long.Refused, fmt.Sprint(i, strings.Repeat("ä", 1023)))
	}
	left := map[string]eviction.Remaining{}
	for i := range namespaces {
		left[fmt.Sprintf("team-%04d", i)] = long
	}
	status := Status(left)
	data, err := json.Marshal(status)
	if err != nil || len(data) > fits || len(status) != namespaces {
		t.Errorf("%d namespaces take %d bytes, want %d and at most %d: %v", len(status), len(data), namespaces, fits, err)
	}
	for i := range status {
		if *status[i].Count != 9 {
			t.Fatalf("of %s it counts %d", status[i].Namespace, *status[i].Count)
		}
	}

	short := eviction.Remaining{Count: 9, Names: []string{"team/a", "team/b"}, Refused: []string{"team/a: " + strings.Repeat("x", 78)}}
	for namespace := range left {
		left[namespace] = short
	}
	if got := Status(left)[0]; len(got.Refused) != 1 || len(got.Names) != 0 {
		t.Errorf("where there is little room it says %v and %v, want the refusal", got.Refused, got.Names)
	}
	if got := Status(map[string]eviction.Remaining{"team": long, "other": long}); len(got[0].Names) != 5 || len(got[0].Refused) != 3 {
		t.Errorf("where there is room it says %d names and %d refusals", len(got[0].Names), len(got[0].Refused))
	}
}
