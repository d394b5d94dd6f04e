package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
)

// TestLines: what the manager reports is said once, with a line for each provider if it is about several.
func TestLines(t *testing.T) {
	in := func(id string, change func(*namespaceoffloading.Cluster)) namespaceoffloading.Cluster {
		c := namespaceoffloading.Cluster{ClusterID: id, Selected: true, Desired: true, RemoteNamespace: "us", Current: &v1alpha1.CurrentMapping{Phase: v1alpha1.MappingAccepted}}
		change(&c)
		return c
	}
	blocked := func(c *namespaceoffloading.Cluster) {
		pod := "shop/" + c.ClusterID
		c.Pods = eviction.Remaining{Count: 1, Names: []string{pod}, Refused: []string{pod + ": the budget web; 1 is needed"}}
	}
	volumes := func(c *namespaceoffloading.Cluster) {
		c.Desired, c.Current.Phase, c.Current.Reason, c.Current.Message = false, v1alpha1.MappingTerminating, v1alpha1.ReasonVolumesRemain, "claims: data"
	}
	taken := func(c *namespaceoffloading.Cluster) {
		c.Current.Phase, c.Current.Reason, c.Current.Message = v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict, "somebody's"
	}
	away := func(c *namespaceoffloading.Cluster) { c.Unreachable = "no answer" }
	for name, test := range map[string]struct {
		ends     bool
		clusters []namespaceoffloading.Cluster
		want     []string
	}{
		"a budget in each of two": {true, []namespaceoffloading.Cluster{in("eu", blocked), in("us", blocked)}, []string{
			"EvictingPods: evicting pods from virtual nodes",
			"in eu: 1 pod (shop/eu), and the API server refuses to evict shop/eu: the budget web; 1 is needed",
			"in us: 1 pod (shop/us), and the API server refuses to evict shop/us: the budget web; 1 is needed",
		}},
		"a budget in the only one": {true, []namespaceoffloading.Cluster{in("eu", blocked)}, []string{
			"EvictingPods: evicting pods from virtual nodes: eu: 1 pod (shop/eu), and the API server refuses to evict shop/eu: the budget web; 1 is needed",
		}},
		"volumes, in a namespace with the name of a provider": {true, []namespaceoffloading.Cluster{in("eu", volumes), in("us", away)}, []string{
			"VolumesRemain", "in eu: us: claims: data", "in us: no answer, with remote namespace us left",
		}},
		"some are not created": {false, []namespaceoffloading.Cluster{in("eu", taken), in("us", func(*namespaceoffloading.Cluster) {})}, []string{"SomeFailed: eu: somebody's"}},
		"none is created":      {false, []namespaceoffloading.Cluster{in("eu", taken), in("us", taken)}, []string{"AllFailed", "in eu: somebody's", "in us: somebody's"}},
		"one leaves, one comes": {false, []namespaceoffloading.Cluster{
			in("eu", func(c *namespaceoffloading.Cluster) { c.Selected = false; blocked(c) }), in("us", taken),
		}, []string{"AllFailed: us: somebody's", "in eu: ClusterNotSelected: the remote namespace is no longer needed; the pods of the namespace are evicted from the virtual node first; the API server refuses to evict shop/eu: the budget web; 1 is needed"}},
		"all is well": {false, []namespaceoffloading.Cluster{in("eu", func(*namespaceoffloading.Cluster) {})}, nil},
	} {
		offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
		if test.ends {
			offloading.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		offloading.Status = namespaceoffloading.Decide(namespaceoffloading.Snapshot{Offloading: offloading, Clusters: test.clusters, Now: time.Unix(2, 0)}).Status
		if diff := cmp.Diff(test.want, StateOf(offloading).Lines()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
