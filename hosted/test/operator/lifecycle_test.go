package operator_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/state"
	"github.com/spillway-io/spillway/internal/conditions"
)

// maker creates and deletes clusters of the emulated EKS.
type maker struct {
	cloud.Client
	r    *rig
	name string
	// tokens of the requests to create it.
	tokens *[]string
	err    error
}

func (m maker) Create(_ context.Context, config map[string]any, token string) error {
	*m.tokens = append(*m.tokens, token)
	if m.err == nil {
		m.r.clouds.addEKS(m.r.T, m.name).Edit(setTag("tags", cloud.Mark, cloud.Text(config, "tags."+cloud.Mark)))
	}
	return m.err
}

func (m maker) Delete(context.Context, cloud.Reading, string) error {
	m.r.clouds.remove(m.name)
	return nil
}

// TestCreateAndDelete: a cluster is created, with a pool that the first request cannot create. Then all of
// its fields are managed. It is deleted before the object if deletionPolicy is Delete.
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
	if h.Spec.EKSConfig.Tags[cloud.Mark] != nil || h.Spec.EKSConfig.KubernetesVersion == nil || *h.Spec.EKSConfig.Tags["owner"] != "shop" || len(h.Spec.EKSConfig.NodeGroups) != 2 {
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

// TestManageAllOfAPrivateCluster: all fields of a new cluster are managed, also if it has no public endpoint.
func TestManageAllOfAPrivateCluster(t *testing.T) {
	r := newRig(t)
	eks := maker{r: r, name: "private", tokens: &[]string{}}
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { eks.Client = c; return eks }}
	r.cluster("private", "eksConfig: {displayName: private, region: r}\nlifecycle: {mode: Create, manageAll: true}\ndeletionPolicy: Orphan")
	r.next("private")
	r.clouds.eksS["private"].Edit(func(c object) object {
		vpc := c["resourcesVpcConfig"].(object)
		vpc["endpointPublicAccess"], vpc["publicAccessCidrs"] = false, []any{}
		return c
	})
	h := r.settle("private")
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
	if spec := h.Spec.EKSConfig; spec.PublicAccess == nil || *spec.PublicAccess || spec.PublicAccessSources != nil {
		t.Errorf("managed is %+v", spec)
	}
}

// TestCreateRefused: the cloud's words are reported, and the request is not repeated again and again.
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

// TestCreateNotCarriedOut: the cloud refuses to look at the request that creates the cluster. So an object that
// is deleted then does not wait for the cluster, unless an earlier request had no answer.
func TestCreateNotCarriedOut(t *testing.T) {
	unanswered := fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	tests := map[string]struct {
		answers []error
		stays   bool
	}{
		"too many requests":                     {answers: []error{cloud.ErrThrottled}},
		"bad credentials":                       {answers: []error{cloud.ErrCredentials}},
		"another operation":                     {answers: []error{cloud.ErrBusy}},
		"no answer, and then too many":          {answers: []error{unanswered, cloud.ErrThrottled}, stays: true},
		"too many, and then there is no answer": {answers: []error{cloud.ErrThrottled, unanswered}, stays: true},
		"refused":                               {answers: []error{cloud.ErrRefused}},
		"no answer, and then refused":           {answers: []error{unanswered, cloud.ErrRefused}, stays: true},
		"no answer, and then no right":          {answers: []error{unanswered, cloud.ErrForbidden}, stays: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			eks := maker{r: r, name: "never", tokens: &[]string{}}
			r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { eks.Client = c; return eks }}
			r.cluster("never", "eksConfig: {displayName: never, region: r}\nlifecycle: {mode: Create}\ndeletionPolicy: Delete")
			for _, eks.err = range test.answers {
				r.next("never")
			}
			if err := server.Delete(t.Context(), r.get("never")); err != nil {
				t.Fatal(err)
			}
			r.next("never")
			if err := server.Get(t.Context(), keyOf("never"), &v1alpha1.HostedCluster{}); (err == nil) != test.stays {
				t.Errorf("the object stays: %v, want %v", err == nil, test.stays)
			}
		})
	}
}

// TestDeletedWhileCreating: an object is deleted while it is unknown whether its cluster was created. It
// stays until that is known. A cluster that appears late is deleted, too.
func TestDeletedWhileCreating(t *testing.T) {
	tests := map[string]struct {
		// asked is for how long the cloud does not answer. appears is after how long the cluster appears;
		// zero means never.
		asked, appears time.Duration
		// twin: meanwhile another object is edited to be for the same cluster, and comes first.
		twin bool
		// refused: when the cluster is requested again, the cloud refuses it, for example because the first request
		// has used up the quota.
		refused bool
	}{
		"it appears":                         {appears: time.Minute},
		"it never does":                      {},
		"it is asked for again and again":    {asked: 3 * state.CreateShows, appears: state.CreateShows / 2},
		"it is asked for again, and is late": {asked: 3 * state.CreateShows},
		"it is refused, and appears":         {appears: time.Minute, refused: true},
		"it is refused, and never does":      {refused: true},
		"it appears for a duplicate":         {appears: time.Minute, twin: true},
		"it never does for a duplicate":      {twin: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			eks := maker{r: r, name: "late", tokens: &[]string{}, err: fmt.Errorf("no answer: %w", context.DeadlineExceeded)}
			r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { eks.Client = c; return eks }}
			if test.twin {
				r.cluster("first", "eksConfig: {displayName: late, region: r}")
			}
			r.cluster("late", "eksConfig: {displayName: late, region: r}\nlifecycle: {mode: Create}\ndeletionPolicy: Delete")
			for start := r.clock.Now(); ; {
				r.next("late")
				if r.clock.Now().Sub(start) > test.asked {
					break
				}
			}
			if test.refused {
				eks.err = cloud.ErrRefused
				r.next("late")
				r.condition(r.get("late"), v1alpha1.HostedReady, v1alpha1.ReasonUpdateFailed, "CreateCluster: ")
				asked := len(*eks.tokens)
				if r.reconcile("late"); len(*eks.tokens) != asked {
					t.Error("it is asked for again at once")
				}
			}
			if test.twin {
				r.edit("first", func(h *v1alpha1.HostedCluster) { h.Spec.Credentials.SecretRef.Name = "late" })
			}
			if err := server.Delete(t.Context(), r.get("late")); err != nil {
				t.Fatal(err)
			}
			start := r.clock.Now()
			r.next("late")
			r.condition(r.get("late"), v1alpha1.HostedReady, v1alpha1.ReasonDeleting, "does not list it yet")
			if test.appears > 0 {
				r.clock.SetTime(start.Add(test.appears))
				eks.err = nil
				_ = eks.Create(t.Context(), cloud.Marked(object{}, string(r.get("late").UID)), "")
				r.next("late")
			}
			r.clock.SetTime(r.clock.Now().Add(state.CreateShows * time.Duration(btoi(test.appears == 0))))
			r.next("late")
			if err := server.Get(t.Context(), keyOf("late"), &v1alpha1.HostedCluster{}); err == nil || r.clouds.eksS["late"] != nil {
				t.Error("the object or the cluster stays")
			}
		})
	}
}

// TestNotOurs: a cluster existed before. An object that should create it does not take it over, and an object
// that has adopted it does not delete it, until somebody marks it.
func TestNotOurs(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		edit, changes := s.add(r, name)
		r.cluster(name, s.spec+"\nlifecycle: {mode: Create}\ndeletionPolicy: Delete")
		r.edit(name, func(h *v1alpha1.HostedCluster) { *s.tags(h) = map[string]*string{"owner": ptr.To("another")} })
		h := r.settle(name)
		r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonAlreadyExists, string(h.UID))
		r.edit(name, func(h *v1alpha1.HostedCluster) { h.Spec.Lifecycle.Mode = v1alpha1.LifecycleAdopt; *s.tags(h) = nil })
		r.condition(r.settle(name), v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
		if err := server.Delete(r.Context(), r.get(name)); err != nil {
			r.Fatal(err)
		}
		r.next(name)
		r.condition(r.get(name), v1alpha1.HostedReady, v1alpha1.ReasonNotMarked, string(h.UID))
		if len(changes()) != 0 {
			r.Errorf("changes of a cluster that is not ours: %v", changes())
		}
		edit(cloud.Mark, string(h.UID))
		for range 3 {
			r.next(name)
		}
		if err := server.Get(r.Context(), keyOf(name), &v1alpha1.HostedCluster{}); err == nil || len(changes()) == 0 {
			r.Errorf("the object or the cluster stays: %v", changes())
		}
	})
}

// TestDuplicate: of two objects for one cluster, the second does nothing until the first is gone. With the
// same credentials it does not even read.
func TestDuplicate(t *testing.T) {
	for _, credentials := range []string{"a-first", "b-second"} {
		t.Run(credentials, func(t *testing.T) {
			r := newRig(t)
			cluster := r.clouds.addEKS(t, "shared")
			r.cluster("a-first", "eksConfig: {displayName: shared, region: r}")
			r.settle("a-first")
			r.cluster("b-second", "eksConfig: {displayName: shared, region: r, tags: {owner: another}}\nbinding: {clusterID: b}\ndeletionPolicy: Delete")
			b := &binder{done: true}
			r.Binder = b
			r.edit("b-second", func(h *v1alpha1.HostedCluster) { h.Spec.Credentials.SecretRef.Name = credentials })
			before, changes := r.clouds.counts()
			r.condition(r.settle("b-second"), v1alpha1.HostedReady, v1alpha1.ReasonDuplicate, "HostedCluster a-first")
			if requests, changed := r.clouds.counts(); changed != changes || credentials == "a-first" && requests != before || b.bound+b.kept > 0 {
				t.Errorf("%d requests, of which %d change something; bound %d times, kept %d", requests-before, changed-changes, b.bound, b.kept)
			}
			if err := server.Delete(t.Context(), r.get("b-second")); err != nil {
				t.Fatal(err)
			}
			r.reconcile("b-second")
			if err := server.Get(t.Context(), keyOf("b-second"), &v1alpha1.HostedCluster{}); err == nil || len(cluster.Changes()) > 0 {
				t.Errorf("the object stays, or the cluster is changed: %v", cluster.Changes())
			}
		})
	}
}

// binder records how it is called.
type binder struct {
	bound, kept, unbound, gone int
	done                       bool
	// why is the error of renewing a token.
	why error
}

func (b *binder) Bind(context.Context, *v1alpha1.HostedCluster, cloud.Source) (*metav1.Condition, time.Duration, error) {
	b.bound++
	c := conditions.New(v1alpha1.HostedBound, metav1.ConditionTrue, "Bound", "")
	return &c, time.Minute, nil
}

func (b *binder) Keep(ctx context.Context, _ *v1alpha1.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error) {
	b.kept++
	_, b.why = source.Connection(ctx)
	c := conditions.New(v1alpha1.HostedBound, metav1.ConditionTrue, "Bound", "")
	return &c, time.Second, nil
}

func (b *binder) Unbind(_ context.Context, _ *v1alpha1.HostedCluster, source cloud.Source, gone bool) (*metav1.Condition, bool, error) {
	b.unbound++
	if gone {
		b.gone++
	}
	c := conditions.New(v1alpha1.HostedBound, metav1.ConditionFalse, v1alpha1.ReasonUnbinding, "")
	return &c, b.done && source != nil, nil
}

// TestTokenIsKept: whatever is wrong with the cluster, or must not be done, the token of its binding is
// renewed. If that fails, Bound is not True.
func TestTokenIsKept(t *testing.T) {
	answer := func(code string, to func(*http.Request) bool) func(*rig) {
		return func(r *rig) {
			r.clouds.before = func(request *http.Request, _, _ string) string {
				if to(request) {
					return code
				}
				return ""
			}
		}
	}
	edited := func(change func(*v1alpha1.HostedCluster)) func(*rig) { return func(r *rig) { r.edit("kept", change) } }
	all := func(*http.Request) bool { return true }
	tests := map[string]struct {
		happens            func(*rig)
		bound, kept, unbnd int
		reason, why        string
	}{
		"nothing":         {happens: func(*rig) {}, bound: 1},
		"it is paused":    {happens: edited(func(h *v1alpha1.HostedCluster) { h.Spec.Paused = true }), kept: 1},
		"nothing is read": {happens: answer("AccessDeniedException", all), kept: 1, why: "eks:DescribeCluster"},
		"a part is not":   {happens: answer("AccessDeniedException", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/node-groups") }), kept: 1},
		"a write is not": {happens: func(r *rig) {
			tagged(r)
			answer("Nonsense", func(q *http.Request) bool { return q.Method == http.MethodPost })(r)
		}, bound: 1},
		"without a Secret":  {happens: edited(func(h *v1alpha1.HostedCluster) { h.Spec.Credentials.SecretRef.Name = "none" }), kept: 1, why: "there is no Secret none"},
		"a refused status":  {happens: func(r *rig) { tagged(r); r.Client = serverAt{r.Client, &points{at: 1, where: lost}} }, kept: 1},
		"it has gone":       {happens: func(r *rig) { r.clouds.remove("kept") }, reason: v1alpha1.ReasonNotFound},
		"it is another one": {happens: func(r *rig) { r.clouds.eksS["kept"].Edit(func(c object) object { c["createdAt"] = 1; return c }) }, reason: v1alpha1.ReasonReplaced},
		"it is to be deleted, and busy": {happens: func(r *rig) {
			edited(func(h *v1alpha1.HostedCluster) { h.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete })(r)
			r.clouds.eksS["kept"].Edit(func(c object) object { c["status"] = "UPDATING"; return c })
			if err := server.Delete(r.Context(), r.get("kept")); err != nil {
				r.Fatal(err)
			}
		}, unbnd: 1, reason: v1alpha1.ReasonUnbinding},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			b := &binder{}
			r.Binder = b
			r.clouds.addEKS(t, "kept")
			r.cluster("kept", "eksConfig: {displayName: kept, region: r}\nbinding: {clusterID: kept}\nsync: {interval: 24h}")
			r.settle("kept")
			*b = binder{}
			test.happens(r)
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf("kept")})
			if b.bound != test.bound || b.kept != test.kept || b.unbound != test.unbnd {
				t.Errorf("bound %d times, kept %d, unbound %d; %v", b.bound, b.kept, b.unbound, err)
			}
			if b.why == nil && test.why != "" || b.why != nil && !strings.Contains(b.why.Error(), test.why) {
				t.Errorf("it cannot be renewed because of %v", b.why)
			}
			if err == nil && result.RequeueAfter > time.Minute && test.reason == "" {
				t.Errorf("again after %v", result.RequeueAfter)
			}
			r.condition(r.get("kept"), v1alpha1.HostedBound, cmp.Or(test.reason, "Bound"), "")
		})
	}
}

func tagged(r *rig) {
	r.edit("kept", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.Tags = map[string]*string{"a": ptr.To("b")} })
}

// TestBinder: the Binder is called with each read, and as soon as it requests. It removes what it created
// before the object is gone.
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
	r.get("bound") // The object exists until that is done.
	r.condition(r.get("bound"), v1alpha1.HostedBound, v1alpha1.ReasonUnbinding, "")
	r.condition(r.get("bound"), v1alpha1.HostedReady, v1alpha1.ReasonDeleting, "")
	r.clouds.remove("bound")
	b.done = true
	r.reconcile("bound")
	if err := server.Get(t.Context(), keyOf("bound"), &v1alpha1.HostedCluster{}); err == nil || b.unbound != 3 || b.gone != 1 {
		t.Errorf("unbound %d times, of which %d without the cluster; %v", b.unbound, b.gone, err)
	}
}
