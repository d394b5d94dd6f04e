package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/controller"
)

// TestCredentials: a problem with them is reported in the same words each time, and a new Secret is used at
// once.
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

	// They may read, and not change anything.
	r.clouds.before = func(q *http.Request, _, _ string) string {
		if q.Method == http.MethodGet {
			return ""
		}
		return "AccessDeniedException"
	}
	r.edit("creds", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for range 3 {
		r.next("creds")
	}
	r.condition(r.get("creds"), v1alpha1.HostedCredentialsValid, v1alpha1.ReasonRightMissing, "UpdateClusterVersion")
	r.clouds.before = nil

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

// TestCredentialsServeOneCluster: with three workers, no request carries the credentials of another cluster.
func TestCredentialsServeOneCluster(t *testing.T) {
	if crossed := threeWorkers(t, nil); len(crossed) > 0 {
		t.Error(crossed)
	}
}

// TestSharedHandler shows that the previous test can fail. It has one handler for all clusters, in which each
// worker sets its own credentials.
func TestSharedHandler(t *testing.T) {
	crossed := threeWorkers(t, func(clouds controller.Clouds) controller.Clouds { return &shared{Clouds: clouds} })
	if len(crossed) == 0 {
		t.Error("it is not caught")
	}
	t.Log("caught:", crossed)
}

// shared gives the last caller's Secret to the next caller.
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

// TestExpired: credentials that expire between the read and the request are reported. The request is sent
// when there are new ones.
func TestExpired(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "expired")
	r.cluster("expired", "eksConfig: {displayName: expired, region: r}")
	r.settle("expired")
	r.answer("ExpiredTokenException")
	r.edit("expired", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	r.next("expired")
	h := r.get("expired")
	r.condition(h, v1alpha1.HostedCredentialsValid, v1alpha1.ReasonRejected, "ExpiredTokenException")
	if h.Status.InFlight() == nil || len(cluster.Changes()) != 0 {
		t.Errorf("operation %+v, changes %v", h.Status.Operations, cluster.Changes())
	}
	r.answer("")
	h = r.settle("expired")
	r.condition(h, v1alpha1.HostedCredentialsValid, v1alpha1.ReasonAccepted, "")
	if h.Status.KubernetesVersion != "1.33" || len(cluster.Changes()) != 1 {
		t.Errorf("it is %s after %v", h.Status.KubernetesVersion, cluster.Changes())
	}
}

// TestUnknownVersion: a refusal is reported in the cloud's words, and the request is not repeated at each
// read.
func TestUnknownVersion(t *testing.T) {
	r := newRig(t)
	r.clouds.addEKS(t, "version")
	r.cluster("version", "eksConfig: {displayName: version, region: r}")
	r.settle("version")
	r.answer("InvalidParameterException")
	r.edit("version", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("9.99") })
	r.next("version")
	h := r.get("version")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "UpdateClusterVersion")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "InvalidParameterException")
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
	_, asked := r.clouds.counts()
	for range 3 {
		r.next("version")
	}
	if _, again := r.clouds.counts(); again != asked {
		t.Errorf("it was asked for %d times more", again-asked)
	}
}

// answer makes EKS answer changing requests with an error.
func (r *rig) answer(code string) {
	r.clouds.lock.Lock()
	defer r.clouds.lock.Unlock()
	r.clouds.before = func(request *http.Request, _, _ string) string {
		if request.Method == http.MethodGet {
			return ""
		}
		return code
	}
}
