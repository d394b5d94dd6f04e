package operator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/controller"
	"github.com/spillway-io/spillway/internal/hosted/merge"
)

// crash is what a call panics with where the process ends.
type crash struct{}

// Where a point is: the process ends before or after the call, or its answer is lost.
const (
	before = "before"
	after  = "after"
	lost   = "lost"
)

var errLost = errors.New("the connection was lost")

// points counts calls of the cloud and writes to the API server, and makes one of them go
// wrong.
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

func (c cloudAt) Operation(ctx context.Context, item, id string) (operation cloud.Operation, err error) {
	err = c.call(func() error { operation, err = c.Client.Operation(ctx, item, id); return err })
	return operation, err
}

func (c cloudAt) OperationIDs(ctx context.Context, item string) (ids []string, err error) {
	err = c.call(func() error { ids, err = c.Client.OperationIDs(ctx, item); return err })
	return ids, err
}

// wrapped wraps each client.
type wrapped struct {
	controller.Clouds
	wrap func(cloud.Client) cloud.Client
}

func (w wrapped) Client(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret) (cloud.Client, error) {
	c, err := w.Clouds.Client(ctx, h, secret)
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
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

// mayCrash reconciles, and starts another process if that ends.
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

// TestCrashAtEachCall ends the process before and after each call, or loses the answer, while a version and a tag
// are pushed and a tag that the console has changed is adopted. The next process goes on:
// each edit is made once, nothing is in conflict, and what is overwritten is named once.
func TestCrashAtEachCall(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		for at := 1; ; at++ {
			wheres := []string{before, after, lost}
			if testing.Short() {
				wheres = wheres[at%3 : at%3+1]
			}
			for _, where := range wheres {
				if !playCrash(r, s, fmt.Sprintf("%s-%d-%s", name, at, where), &points{at: at, where: where}) {
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

// TestActiveIsNotBelieved: EKS says ACTIVE, and has the old values, while the update is in
// progress. Nothing is decided until the update is done.
func TestActiveIsNotBelieved(t *testing.T) {
	if why := active(newRig(t), "active", nil); why != "" {
		t.Error(why)
	}
}

// TestActiveBelieved shows that the test before can fail.
func TestActiveBelieved(t *testing.T) {
	believe := func(c cloud.Client) cloud.Client { return believing{c} }
	if why := active(newRig(t), "believed", believe); why == "" {
		t.Error("it is not caught")
	} else {
		t.Log("caught:", why)
	}
}

// believing takes each operation as done, for the cluster says so.
type believing struct{ cloud.Client }

func (b believing) Operation(ctx context.Context, item, id string) (cloud.Operation, error) {
	operation, err := b.Client.Operation(ctx, item, id)
	operation.Done = true
	return operation, err
}

func active(r *rig, name string, bug func(cloud.Client) cloud.Client) string {
	cluster := r.clouds.addEKS(r.T, name)
	cluster.Slow()
	r.cluster(name, fmt.Sprintf("eksConfig: {displayName: %s, region: r}", name))
	r.settle(name)
	if bug != nil {
		r.Clouds = wrapped{r.Clouds, bug}
	}
	r.edit(name, func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for range 5 {
		r.next(name)
		if h := r.get(name); len(h.Status.Conflicts) > 0 || h.Status.Operation == nil {
			return fmt.Sprintf("while it is in progress: %+v, operation %v", h.Status.Conflicts, h.Status.Operation)
		}
	}
	r.condition(r.get(name), v1alpha1.HostedUpdating, v1alpha1.ReasonWaiting, "UpdateClusterVersion")
	cluster.Finish("")
	h := r.settle(name)
	if h.Status.KubernetesVersion != "1.33" || len(cluster.Changes()) != 1 || len(h.Status.Conflicts) > 0 {
		return fmt.Sprintf("in the end: %s after %v, conflicts %v", h.Status.KubernetesVersion, cluster.Changes(), h.Status.Conflicts)
	}
	return ""
}

// TestForeignUpdate: while somebody else's update is in progress, nothing is pushed and
// nothing adopted, though EKS says ACTIVE.
func TestForeignUpdate(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "foreign")
	cluster.Slow()
	r.cluster("foreign", "eksConfig: {displayName: foreign, region: r}")
	r.settle("foreign")
	r.console("foreign", object{"publicAccess": false})()
	r.edit("foreign", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for range 3 {
		r.next("foreign")
	}
	h := r.get("foreign")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonForeignUpdate, "update-0")
	if len(cluster.Changes()) != 1 || h.Status.Operation != nil {
		t.Errorf("changes %v, operation %+v", cluster.Changes(), h.Status.Operation)
	}
	cluster.Finish("")
	r.next("foreign")
	cluster.Finish("")
	h = r.settle("foreign")
	if len(cluster.Changes()) != 2 || h.Status.KubernetesVersion != "1.33" || *h.Status.UpstreamSpec.EKSConfig.PublicAccess {
		t.Errorf("changes %v, %+v", cluster.Changes(), h.Status.UpstreamSpec.EKSConfig)
	}
}

// TestOverwritten: somebody else's update, which was done between our read and our request,
// and which EKS does not tell of, is named with its value.
func TestOverwritten(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "between")
	r.cluster("between", "eksConfig: {displayName: between, region: r, publicAccessSources: [10.0.0.0/8]}")
	r.settle("between")
	console := r.console("between", object{"publicAccessSources": []any{"198.51.100.0/24"}})
	var came atomic.Bool
	r.clouds.before = func(request *http.Request, _, _ string) string {
		if request.Method != http.MethodGet && came.CompareAndSwap(false, true) {
			console()
		}
		return ""
	}
	r.edit("between", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.PublicAccessSources = []string{"192.0.2.0/24"} })
	h := r.settle("between")
	if len(h.Status.Decisions) != 1 || h.Status.Decisions[0].Lost != `["198.51.100.0/24"]` || h.Status.Decisions[0].Take != v1alpha1.SideSpec {
		t.Errorf("decisions %+v", h.Status.Decisions)
	}
	if len(cluster.Changes()) != 2 || !slices.Equal(h.Status.UpstreamSpec.EKSConfig.PublicAccessSources, []string{"192.0.2.0/24"}) || !r.happened("198.51.100.0/24") {
		t.Errorf("changes %v, %v", cluster.Changes(), h.Status.UpstreamSpec.EKSConfig.PublicAccessSources)
	}
}

// console returns a request of somebody else for the same cluster.
func (r *rig) console(name string, spec object) func() {
	r.Helper()
	client, err := r.Clouds.Client(r.Context(), r.get(name), r.secret(name))
	if err != nil {
		r.Fatal(err)
	}
	reading, err := client.Read(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	write := merge.Merge(merge.Input{Table: client.Table(), Spec: spec, Upstream: reading.Config, Published: reading.Config, Versions: reading.Versions, Complete: true}).Writes[0]
	return func() {
		if _, err := client.Send(r.Context(), reading, write, "console"); err != nil {
			r.Error(err)
		}
	}
}

func (r *rig) secret(name string) *corev1.Secret {
	r.Helper()
	secret := &corev1.Secret{}
	if err := server.Get(r.Context(), client.ObjectKey{Namespace: "default", Name: name}, secret); err != nil {
		r.Fatal(err)
	}
	return secret
}

// TestFailedUpdate: an update that fails half way is said, with the cloud's own words, and
// not begun again and again; after an hour, or with another spec, it is.
func TestFailedUpdate(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "fails")
	cluster.Slow()
	r.cluster("fails", "eksConfig: {displayName: fails, region: r}")
	r.settle("fails")
	r.edit("fails", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	r.next("fails")
	cluster.Finish("a webhook is in the way")
	r.next("fails")
	h := r.get("fails")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "a webhook is in the way")
	r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonPushed, "")
	if !r.happened(v1alpha1.ReasonUpdateFailed) {
		t.Error("no event says so")
	}
	wrote := writes.Load()
	for range 3 {
		r.next("fails")
	}
	if len(cluster.Changes()) != 1 || writes.Load() != wrote {
		t.Errorf("%v, and %d writes", cluster.Changes(), writes.Load()-wrote)
	}
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	r.next("fails")
	if len(cluster.Changes()) != 2 {
		t.Errorf("after an hour: %v", cluster.Changes())
	}
	cluster.Finish("again")
	r.next("fails")
	r.edit("fails", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.34") })
	r.next("fails")
	if len(cluster.Changes()) != 3 {
		t.Errorf("with another spec: %v", cluster.Changes())
	}
	cluster.Finish("")
	if h = r.settle("fails"); h.Status.KubernetesVersion != "1.34" || len(h.Status.Conflicts) != 0 {
		t.Errorf("in the end: %+v", h.Status)
	}
}

// TestCredentials: what is wrong with them is said, in words that stay the same, and a new
// Secret is used at once.
func TestCredentials(t *testing.T) {
	r := newRig(t)
	r.clouds.addEKS(t, "creds")
	r.clouds.addAKS(t, "wrong")
	r.cluster("creds", "eksConfig: {displayName: creds, region: r}")
	r.cluster("wrong", "aksConfig: {resourceGroup: rg, clusterName: wrong, resourceLocation: r}")

	code := "AccessDeniedException"
	r.clouds.before = func(*http.Request, string, string) string { return code }
	r.next("creds")
	r.condition(r.get("creds"), v1alpha1.HostedCredentialsValid, v1alpha1.ReasonRightMissing, "eks:DescribeCluster")
	r.condition(r.get("creds"), v1alpha1.HostedReady, v1alpha1.ReasonRightMissing, "")
	wrote := writes.Load()
	for range 3 {
		r.next("creds")
	}
	if writes.Load() != wrote {
		t.Errorf("%d writes of the same", writes.Load()-wrote)
	}
	code = "UnrecognizedClientException"
	r.next("creds")
	r.condition(r.get("creds"), v1alpha1.HostedCredentialsValid, v1alpha1.ReasonRejected, "")
	code = "ThrottlingException"
	r.next("creds")
	r.condition(r.get("creds"), v1alpha1.HostedSynced, v1alpha1.ReasonThrottled, "")
	code = ""
	r.settle("creds")
	r.condition(r.get("creds"), v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")

	secret := r.secret("wrong")
	right := secret.Data["clientSecret"]
	secret.Data["clientSecret"] = []byte("wrong")
	if err := server.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.next("wrong")
	r.condition(r.get("wrong"), v1alpha1.HostedCredentialsValid, v1alpha1.ReasonRejected, "AADSTS7000215")
	delete(secret.Data, "clientSecret")
	if err := server.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.next("wrong")
	r.condition(r.get("wrong"), v1alpha1.HostedCredentialsValid, v1alpha1.ReasonSecretUnusable, "the Secret wrong has no key clientSecret")
	secret.Data["clientSecret"] = right
	if err := server.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.next("wrong")
	r.condition(r.get("wrong"), v1alpha1.HostedCredentialsValid, v1alpha1.ReasonAccepted, "")
}

// TestCredentialsServeOneCluster: three workers at a time, and no request carries the
// credentials of another cluster.
func TestCredentialsServeOneCluster(t *testing.T) {
	if crossed := threeWorkers(t, nil); len(crossed) > 0 {
		t.Error(crossed)
	}
}

// TestSharedHandler shows that the test before can fail: one handler for all clusters, in
// which each worker sets the credentials of its own.
func TestSharedHandler(t *testing.T) {
	crossed := threeWorkers(t, func(clouds controller.Clouds) controller.Clouds { return &shared{Clouds: clouds} })
	if len(crossed) == 0 {
		t.Error("it is not caught")
	}
	t.Log("caught:", crossed)
}

// shared gives the Secret of the last one who came to whoever comes next.
type shared struct {
	controller.Clouds
	lock   sync.Mutex
	secret *corev1.Secret
	came   sync.WaitGroup
	once   sync.Once
}

func (s *shared) Client(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret) (cloud.Client, error) {
	s.once.Do(func() { s.came.Add(3) })
	s.lock.Lock()
	s.secret = secret
	s.lock.Unlock()
	s.came.Done()
	s.came.Wait()
	return s.Clouds.Client(ctx, h, s.secret)
}

func threeWorkers(t *testing.T, bug func(controller.Clouds) controller.Clouds) []string {
	t.Helper()
	r := newRig(t)
	names := []string{"one", "two", "three"}
	var lock sync.Mutex
	var crossed []string
	for _, name := range names {
		r.clouds.addEKS(t, name)
		r.cluster(name, fmt.Sprintf("eksConfig: {displayName: %s, region: r}", name))
	}
	r.clouds.before = func(_ *http.Request, cluster, key string) string {
		lock.Lock()
		defer lock.Unlock()
		if key != "key-of-"+cluster {
			crossed = append(crossed, cluster+" with "+key)
		}
		return ""
	}
	if bug != nil {
		r.Clouds = bug(r.Clouds)
	}
	for range 3 {
		var workers sync.WaitGroup
		for _, name := range names {
			workers.Go(func() {
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(name)}); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		if bug != nil {
			break
		}
	}
	slices.Sort(crossed)
	return slices.Compact(crossed)
}

// TestQuiet: a hundred clusters that nobody changes cost no write on either side, and few
// requests.
func TestQuiet(t *testing.T) {
	r := newRig(t)
	var names []string
	for i := range 50 {
		e, a := fmt.Sprintf("quiet-e%d", i), fmt.Sprintf("quiet-a%d", i)
		r.clouds.addEKS(t, e)
		r.clouds.addAKS(t, a)
		r.cluster(e, fmt.Sprintf("eksConfig: {displayName: %s, region: r, tags: {owner: shop}, kubernetesVersion: '1.32', nodeGroups: [{nodegroupName: a, maxSize: 3}]}", e))
		r.cluster(a, fmt.Sprintf("aksConfig: {resourceGroup: rg, clusterName: %s, resourceLocation: westeurope, tags: {owner: other}, kubernetesVersion: '1.32'}", a))
		names = append(names, e, a)
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
		// EKS: the cluster, its add-on, the list of groups and each of them. AKS: the cluster
		// and its pools.
		if got := requests - asked; got != 50*4+50*2 {
			t.Errorf("refresh %d: %d requests to the clouds", refresh, got)
		}
		if changes != changed || writes.Load() != wrote {
			t.Errorf("refresh %d: %d requests that change clouds, %d writes to the API server", refresh, changes-changed, writes.Load()-wrote)
		}
		r.clock.SetTime(r.clock.Now().Add(5 * time.Minute))
	}
}
