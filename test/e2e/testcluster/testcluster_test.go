package testcluster

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/spillway-io/spillway/test/clusters"
)

func TestFor(t *testing.T) {
	for name, want := range map[string]Factory{
		"":      &Local{},
		"local": &Local{},
		"kind":  &Kind{},
		"k3d":   nil,
	} {
		got, err := For(name, "")
		if (err == nil) != (want != nil) || got == nil != (want == nil) {
			t.Errorf("E2E_CLUSTERS=%q: got %T, %v", name, got, err)
			continue
		}
		if want != nil && got.Image() != want.Image() {
			t.Errorf("E2E_CLUSTERS=%q makes a %T, want %T", name, got, want)
		}
	}
}

// kind lets pods run on a lone control plane. These clusters must not, as clusters of other distributions do
// not.
func TestKindConfig(t *testing.T) {
	for name, test := range map[string]struct {
		nodes, workers int
	}{
		"a node":    {1, 1},
		"two nodes": {2, 2},
		"no nodes":  {0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			roles := map[v1alpha4.NodeRole]int{}
			for _, node := range kindConfig(Options{Nodes: test.nodes}).Nodes {
				roles[node.Role]++
			}
			if roles[v1alpha4.ControlPlaneRole] != 1 || roles[v1alpha4.WorkerRole] != test.workers {
				t.Errorf("got %v, want a control plane and %d workers", roles, test.workers)
			}
		})
	}
}

func TestLocalOptions(t *testing.T) {
	local := &Local{Dir: "/dir"}

	plain := local.options(Options{Name: "eu", Nodes: 2})
	if _, asks := plain.APIServerArgs["kubelet-client-certificate"]; len(plain.Nodes) != 2 || asks {
		t.Errorf("a cluster with nodes that run nothing asks no kubelet: %+v", plain)
	}
	if want := filepath.FromSlash("/dir/clusters/eu/pki/ca.crt"); plain.APIServerArgs["requestheader-client-ca-file"] != want {
		t.Errorf("metrics-server believes the authority %q, want %q", plain.APIServerArgs["requestheader-client-ca-file"], want)
	}
	withNode := local.options(Options{Name: "dc", Nodes: 1, Real: true})
	for _, component := range withNode.Components {
		if component == clusters.KwokController {
			t.Error("kwok would play the kubelet of a real node")
		}
	}
	if want := filepath.FromSlash("/dir/clusters/dc/pki/admin.crt"); withNode.APIServerArgs["kubelet-client-certificate"] != want {
		t.Errorf("the API server shows the kubelet the certificate %q, want %q", withNode.APIServerArgs["kubelet-client-certificate"], want)
	}
}
