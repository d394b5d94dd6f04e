package operator_test

import (
	"fmt"
	"testing"
	"time"
)

// TestQuiet: 102 unchanged clusters cost no write, in the clouds or the API server, and few requests.
func TestQuiet(t *testing.T) {
	r := newRig(t)
	var names []string
	for i := range 34 {
		e, a, g := fmt.Sprintf("quiet-e%d", i), fmt.Sprintf("quiet-a%d", i), fmt.Sprintf("quiet-g%d", i)
		r.clouds.addEKS(t, e)
		r.clouds.addAKS(t, a)
		r.cluster(e, fmt.Sprintf("eksConfig: {displayName: %s, region: r, tags: {owner: shop}, kubernetesVersion: '1.32', nodeGroups: [{nodegroupName: a, maxSize: 3}]}", e))
		r.cluster(a, fmt.Sprintf("aksConfig: {resourceGroup: rg, clusterName: %s, resourceLocation: westeurope, tags: {owner: other}, kubernetesVersion: '1.32'}", a))
		r.clouds.addGKE(t, g)
		r.cluster(g, fmt.Sprintf("gkeConfig: {projectID: p, clusterName: %s, region: europe-west3, labels: {owner: shop}, nodePools: [{name: a, initialNodeCount: 2}]}", g))
		names = append(names, e, a, g)
	}
	for _, name := range names {
		r.settle(name)
	}
	r.restart() // The first refresh after a restart is as quiet as any.
	for refresh := range 3 {
		asked, changed := r.clouds.counts()
		wrote := writes.Load()
		for _, name := range names {
			r.reconcile(name)
		}
		requests, changes := r.clouds.counts()
		// EKS: the cluster, its add-on, the list of groups and each group. AKS: the cluster and its pools.
		// GKE: the cluster with its pools.
		if got := requests - asked; got != 34*(4+2+1) {
			t.Errorf("refresh %d: %d requests to the clouds", refresh, got)
		}
		if changes != changed || writes.Load() != wrote {
			t.Errorf("refresh %d: %d requests that change clouds, %d writes to the API server", refresh, changes-changed, writes.Load()-wrote)
		}
		r.clock.SetTime(r.clock.Now().Add(5 * time.Minute))
	}
}
