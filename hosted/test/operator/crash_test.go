package operator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// crash is the panic with which the process ends.
type crash struct{}

// Where a crash happens: the process ends before or after the call, or its answer is lost.
const (
	before = "before"
	after  = "after"
	lost   = "lost"
)

var errLost = errors.New("the connection was lost")

// points counts calls to the cloud and writes to the API server, and makes one of them fail.
type points struct {
	calls, at int
	where     string
	gone      bool
}

func (p *points) call(do func() error) error {
	p.calls++
	if p.calls != p.at {
		return do()
	}
	p.gone = true
	if p.where == before {
		panic(crash{})
	}
	err := do()
	if p.where == after {
		panic(crash{})
	}
	return errors.Join(errLost, err)
}

// cloudAt is a client whose calls are points.
type cloudAt struct {
	cloud.Client
	*points
}

func (c cloudAt) Read(ctx context.Context) (reading cloud.Reading, err error) {
	err = c.call(func() error { reading, err = c.Client.Read(ctx); return err })
	return reading, err
}

func (c cloudAt) Send(ctx context.Context, reading cloud.Reading, write merge.Write, token string) (id string, err error) {
	err = c.call(func() error { id, err = c.Client.Send(ctx, reading, write, token); return err })
	return id, err
}

func (c cloudAt) Create(ctx context.Context, config map[string]any, token string) error {
	return c.call(func() error { return c.Client.Create(ctx, config, token) })
}

func (c cloudAt) Delete(ctx context.Context, reading cloud.Reading, token string) error {
	return c.call(func() error { return c.Client.Delete(ctx, reading, token) })
}

func (c cloudAt) Operation(ctx context.Context, item, id string) (operation cloud.Operation, err error) {
	err = c.call(func() error { operation, err = c.Client.Operation(ctx, item, id); return err })
	return operation, err
}

func (c cloudAt) OperationIDs(ctx context.Context, item string) (ids []string, err error) {
	err = c.call(func() error { ids, err = c.Client.OperationIDs(ctx, item); return err })
	return ids, err
}

// serverAt is an API server whose writes are points.
type serverAt struct {
	client.Client
	*points
}

func (s serverAt) Patch(ctx context.Context, o client.Object, p client.Patch, options ...client.PatchOption) error {
	return s.call(func() error { return s.Client.Patch(ctx, o, p, options...) })
}

func (s serverAt) Status() client.SubResourceWriter { return statusAt{s.Client.Status(), s.points} }

type statusAt struct {
	client.SubResourceWriter
	*points
}

func (s statusAt) Update(ctx context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	return s.call(func() error { return s.SubResourceWriter.Update(ctx, o, options...) })
}

// mayCrash reconciles, and starts another process after a crash.
func (r *rig) mayCrash(name string) {
	defer func() {
		if c := recover(); c != nil {
			if c != (crash{}) {
				panic(c)
			}
			r.restart()
		}
	}()
	result, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: keyOf(name)})
	if err != nil && !errors.Is(err, errLost) {
		r.Fatal(err)
	}
	r.clock.SetTime(r.clock.Now().Add(result.RequeueAfter))
}

// TestCrashAtEachCall crashes before and after each call, or loses the answer. Meanwhile a version and a tag
// are pushed, and a tag from the console is adopted. The next process continues: each edit is made once,
// nothing is in conflict, and an overwritten value is named once.
func TestCrashAtEachCall(t *testing.T) { eachPoint(t, playCrash) }

// eachPoint plays with a crash at each call, until there are no more calls.
func eachPoint(t *testing.T, play func(*rig, side, string, *points) bool) {
	t.Helper()
	eachCloud(t, func(r *rig, s side, name string) {
		for at := 1; ; at++ {
			wheres := []string{before, after, lost}
			if testing.Short() {
				wheres = wheres[at%3 : at%3+1]
			}
			for _, where := range wheres {
				if !play(r, s, fmt.Sprintf("%s-%d-%s", name, at, where), &points{at: at, where: where}) {
					if at < 10 {
						r.Errorf("there were but %d calls", at)
					}
					return
				}
			}
		}
	})
}

func playCrash(r *rig, s side, name string, p *points) bool {
	edit, changes := s.add(r, name)
	spec := map[string]string{
		"eks": "eksConfig: {displayName: %s, region: eu-central-1, tags: {owner: shop, cost: '7'}}",
		"aks": "aksConfig: {resourceGroup: rg, clusterName: %s, resourceLocation: westeurope, tags: {owner: shop, cost: '7'}}",
		"gke": "gkeConfig: {projectID: p, clusterName: %s, region: europe-west3, labels: {owner: shop, cost: '7'}}",
	}[s.cloud]
	r.cluster(name, fmt.Sprintf(spec, name))
	r.settle(name)
	r.edit(name, func(h *v1alpha1.HostedCluster) { *s.version(h) = &s.next; (*s.tags(h))["cost"] = ptr.To("8") })
	edit("owner", "console")

	r.restart()
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { return cloudAt{c, p} }}
	r.Client = serverAt{r.Client, p}
	for range 12 {
		r.mayCrash(name)
	}
	r.restart()
	h := r.settle(name)
	what := fmt.Sprintf("%s call %d", p.where, p.at)
	if len(h.Status.Conflicts) != 0 || len(h.Status.Decisions) != 1 || h.Status.Decisions[0].Kept != `"console"` {
		r.Errorf("%s: conflicts %+v, decisions %+v", what, h.Status.Conflicts, h.Status.Decisions)
	}
	up := h.Status.UpstreamSpec
	h.Spec.ClusterConfig = up
	if tags := *s.tags(h); *tags["owner"] != "console" || *tags["cost"] != "8" || h.Status.KubernetesVersion != s.next {
		r.Errorf("%s: it is %s with %v", what, h.Status.KubernetesVersion, tags)
	}
	if got := changes(); len(got) != 2 {
		r.Errorf("%s: %d requests have changed something: %v", what, len(got), got)
	}
	return p.gone
}

// lives have the spec of a cluster that is created, and all changes in the cloud until it is deleted again.
var lives = map[string]struct {
	spec    string
	changes []string
}{
	"eks": {
		`{displayName: %[1]s, region: r, serviceRole: "arn:r", subnets: [s1], nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], diskSize: 30}]}`,
		[]string{"POST /clusters", "POST /clusters/%s/node-groups", "DELETE /clusters/%s/node-groups/b", "DELETE /clusters/%s"},
	},
	"aks": {
		`{resourceGroup: rg, clusterName: %[1]s, resourceLocation: westeurope, dnsPrefix: a, nodePools: [{name: a, mode: System, count: 1}]}`,
		[]string{"PUT", "DELETE"},
	},
	"gke": {`{projectID: p, clusterName: %[1]s, region: europe-west3, nodePools: [{name: a, initialNodeCount: 1}]}`, []string{"create", "delete"}},
}

// TestCrashInALife does the same while a cluster is created and deleted. It is created once, and nothing is
// left of it.
func TestCrashInALife(t *testing.T) { eachPoint(t, playLife) }

func playLife(r *rig, s side, name string, p *points) bool {
	_, changes := s.add(r, name)
	s.edit(r, name, func(object) object { return nil })
	r.cluster(name, fmt.Sprintf("lifecycle: {mode: Create}\ndeletionPolicy: Delete\n%sConfig: %s", s.cloud, fmt.Sprintf(lives[s.cloud].spec, name)))
	r.restart()
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { return cloudAt{c, p} }}
	r.Client = serverAt{r.Client, p}
	for range 8 {
		r.mayCrash(name)
	}
	what := fmt.Sprintf("%s call %d", p.where, p.at)
	if p.gone { // Perhaps in the last of these rounds.
		r.mayCrash(name)
	}
	h := r.get(name)
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
	r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonAgreed, "")
	if err := server.Delete(r.Context(), h); err != nil {
		r.Fatal(err)
	}
	for range 8 {
		r.mayCrash(name)
	}
	if err := server.Get(r.Context(), keyOf(name), h); !apierrors.IsNotFound(err) {
		r.Errorf("%s: the object stays: %v, %+v", what, err, h.Status.Conditions)
	}
	want := make([]string, 0, len(lives[s.cloud].changes))
	for _, change := range lives[s.cloud].changes {
		want = append(want, strings.ReplaceAll(change, "%s", name))
	}
	if diff := cmp.Diff(want, changes()); diff != "" {
		r.Errorf("%s: requests that change something, -want +got:\n%s", what, diff)
	}
	if cluster := r.clouds.eksS[name]; cluster != nil && len(cluster.EC2.Templates()) > 0 {
		r.Errorf("%s: the launch templates %v are left", what, cluster.EC2.Templates())
	}
	return p.gone
}
