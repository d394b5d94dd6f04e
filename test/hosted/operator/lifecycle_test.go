package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// maker makes and deletes clusters of the player of EKS.
type maker struct {
	cloud.Client
	r    *rig
	name string
	// tokens of the requests to create it.
	tokens *[]string
	err    error
}

func (m maker) Create(_ context.Context, _ map[string]any, token string) error {
	*m.tokens = append(*m.tokens, token)
	if m.err == nil {
		m.r.clouds.addEKS(m.r.T, m.name)
	}
	return m.err
}

func (m maker) Delete(context.Context, cloud.Reading, string) error {
	m.r.clouds.lock.Lock()
	defer m.r.clouds.lock.Unlock()
	delete(m.r.clouds.eksS, m.name)
	return nil
}

// TestCreateAndDelete: a cluster is made, with a pool that the first request cannot make, and
// all of its fields are managed then; with deletionPolicy Delete, it goes before the object.
func TestCreateAndDelete(t *testing.T) {
	r := newRig(t)
	var tokens []string
	eks := maker{r: r, name: "made", tokens: &tokens}
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { eks.Client = c; return eks }}
	r.cluster("made", `
eksConfig: {displayName: made, region: r, nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], desiredSize: 1, minSize: 1, maxSize: 1}]}
lifecycle: {mode: Create, manageAll: true}
deletionPolicy: Delete`)
	eks.err = fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	r.next("made")
	eks.err = nil
	r.next("made")
	if len(tokens) != 2 || tokens[0] != tokens[1] {
		t.Errorf("asked with the tokens %v", tokens)
	}
	h := r.settle("made")
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
	r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonAgreed, "")
	if !slices.Equal(r.clouds.eksS["made"].Changes(), []string{"POST /clusters/made/node-groups"}) {
		t.Errorf("changes %v", r.clouds.eksS["made"].Changes())
	}
	if h.Spec.EKSConfig.KubernetesVersion == nil || *h.Spec.EKSConfig.Tags["owner"] != "shop" || len(h.Spec.EKSConfig.NodeGroups) != 2 {
		t.Errorf("managed is %+v", h.Spec.EKSConfig)
	}
	if err := server.Delete(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	r.next("made")
	r.condition(r.get("made"), v1alpha1.HostedReady, v1alpha1.ReasonDeleting, "")
	r.next("made")
	if err := server.Get(t.Context(), keyOf("made"), &v1alpha1.HostedCluster{}); err == nil || r.clouds.eksS["made"] != nil {
		t.Error("the object or the cluster stays")
	}
}

// TestCreateRefused: the cloud's words are said, and it is not asked again and again.
func TestCreateRefused(t *testing.T) {
	r := newRig(t)
	var tokens []string
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client {
		return maker{Client: c, r: r, name: "refused", tokens: &tokens, err: fmt.Errorf("%w: no quota", cloud.ErrRefused)}
	}}
	r.cluster("refused", "eksConfig: {displayName: refused, region: r}\nlifecycle: {mode: Create}\ndeletionPolicy: Orphan")
	r.next("refused")
	wrote := writes.Load()
	for range 3 {
		r.next("refused")
	}
	r.condition(r.get("refused"), v1alpha1.HostedReady, v1alpha1.ReasonUpdateFailed, "no quota")
	if len(tokens) != 1 || writes.Load()-wrote > 1 {
		t.Errorf("asked %d times, with %d more writes", len(tokens), writes.Load()-wrote)
	}
}

// binder notes how it is called.
type binder struct {
	bound, unbound, gone int
	done                 bool
}

func (b *binder) Bind(context.Context, *v1alpha1.HostedCluster, cloud.Client) (*metav1.Condition, time.Duration, error) {
	b.bound++
	c := conditions.New(v1alpha1.HostedBound, metav1.ConditionTrue, "Bound", "")
	return &c, time.Minute, nil
}

func (b *binder) Unbind(_ context.Context, _ *v1alpha1.HostedCluster, c cloud.Client, gone bool) (bool, error) {
	b.unbound++
	if gone {
		b.gone++
	}
	return b.done && c != nil, nil
}

// TestBinder: it is called with each read, as soon as it wants to be, and takes back what it
// made before the object goes.
func TestBinder(t *testing.T) {
	r := newRig(t)
	b := &binder{}
	r.Binder = b
	r.clouds.addEKS(t, "bound")
	r.cluster("bound", "eksConfig: {displayName: bound, region: r}\nbinding: {clusterID: bound}")
	if again := r.reconcile("bound"); again != time.Minute || b.bound != 1 {
		t.Errorf("called %d times, and again after %v", b.bound, again)
	}
	r.condition(r.get("bound"), v1alpha1.HostedBound, "Bound", "")
	if err := server.Delete(t.Context(), r.get("bound")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.next("bound")
	}
	r.get("bound") // It is there until that is done.
	r.clouds.lock.Lock()
	delete(r.clouds.eksS, "bound")
	r.clouds.lock.Unlock()
	b.done = true
	r.reconcile("bound")
	if err := server.Get(t.Context(), keyOf("bound"), &v1alpha1.HostedCluster{}); err == nil || b.unbound != 3 || b.gone != 1 {
		t.Errorf("unbound %d times, of which %d without the cluster; %v", b.unbound, b.gone, err)
	}
}
