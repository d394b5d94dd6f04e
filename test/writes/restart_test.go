package writes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// shared is the number of ConfigMaps, and of Secrets, that the pods use.
const shared = 10

// pods is the number of pods, half of them in each provider. It is smaller with -short.
var pods = 500

// podsForService is the number of pods for each Service, for each NetworkPolicy, and for each EndpointSlice
// that somebody else created. These objects are all in both providers, and each policy selects all pods.
const podsForService = 5

// budgetsInRestart is the number of PodDisruptionBudgets. There are as many Ingresses and HTTPRoutes.
const budgetsInRestart = 10

// inRestart is the number of the namespace that has all these objects.
var inRestart = len(lives)

// restart runs all pods, and starts another manager.
func (s *setup) restart(t *testing.T) {
	before := len(s.requests())
	s.rollOut(t)
	s.settled(t, time.Now())
	rolledOut := s.requests()[before:]
	for what, want := range map[string]int{
		"create pods": pods, "create services": pods / podsForService * len(providers), "create networkpolicies": pods / podsForService * len(providers), "create endpointslices": pods / podsForService * len(providers), "create poddisruptionbudgets": budgetsInRestart * len(providers), "create ingresses": budgetsInRestart * len(providers), "create httproutes": budgetsInRestart * len(providers), "create configmaps": shared * len(providers), "create secrets": shared * len(providers),
		"delete": 0, "patch services": 0, "get services": 0, "patch networkpolicies": 0, "get networkpolicies": 0, "patch endpointslices": 0, "get endpointslices": 0, "patch poddisruptionbudgets": 0, "get poddisruptionbudgets": 0, "patch ingresses": 0, "get ingresses": 0, "patch httproutes": 0, "get httproutes": 0, "get pods": 0, "list": 0,
	} {
		if got := count(rolledOut, what); got != want {
			t.Errorf("roll-out of %d pods: %d times %q, want %d", pods, got, what, want)
		}
	}
	// When two bindings mark an object at once, one of them has an older answer, and it reads what it sends.
	if got, most := count(rolledOut, "get"), 2*shared*len(providers); got > most {
		t.Errorf("roll-out of %d pods: %d objects were read, want at most %d", pods, got, most)
	}
	// The numbers of these other requests vary. A pod that has waited for long gets a status that says so,
	// and when two bindings mark an object at once, one of them tries again.
	for _, what := range []string{"get", "patch pods/status", "create events", "patch configmaps", "patch secrets"} {
		t.Logf("roll-out of %d pods: %d times %q", pods, count(rolledOut, what), what)
	}

	versions := s.versions(t)
	must(t, s.manager.Stop())
	began := time.Now()
	s.start(t)
	s.settled(t, began)
	s.checkRestart(t)
	if diff := cmp.Diff(versions, s.versions(t)); diff != "" {
		t.Errorf("the restart changed (-before +after):\n%s", diff)
	}
}

// rollOut creates the pods and the objects that they use, and runs the pods.
func (s *setup) rollOut(t *testing.T) {
	ctx, admin := t.Context(), s.Consumer.Admin
	namespace := rig.Namespace(inRestart).GetName()
	must(t, rig.CreateAll(ctx, admin, shared, func(i int) client.Object { return newConfigMap(namespace, fmt.Sprintf("settings-%d", i)) }))
	must(t, rig.CreateAll(ctx, admin, shared, func(i int) client.Object { return newSecret(namespace, fmt.Sprintf("password-%d", i)) }))
	must(t, rig.CreateAll(ctx, admin, pods/podsForService, func(i int) client.Object { return newNetworkPolicy(namespace, fmt.Sprintf("only-%03d", i)) }))
	must(t, rig.CreateAll(ctx, admin, pods/podsForService, func(i int) client.Object { return newEndpointSlice(namespace, fmt.Sprintf("list-%03d", i)) }))
	must(t, rig.CreateAll(ctx, admin, budgetsInRestart, func(i int) client.Object { return newBudget(namespace, fmt.Sprintf("keep-%03d", i)) }))
	must(t, rig.CreateAll(ctx, admin, budgetsInRestart, func(i int) client.Object { return newIngress(namespace, fmt.Sprintf("open-%03d", i)) }))
	must(t, rig.CreateAll(ctx, admin, budgetsInRestart, func(i int) client.Object { return newRoute(namespace, fmt.Sprintf("open-%03d", i)) }))
	must(t, rig.CreateAll(ctx, admin, pods, func(i int) client.Object {
		pod := newPod(inRestart, fmt.Sprintf("web-%03d", i))
		using(pod, fmt.Sprintf("settings-%d", i/len(providers)%shared), fmt.Sprintf("password-%d", i/len(providers)%shared))
		pod.Spec.NodeName = v1alpha1.VirtualNodePrefix + providers[i%len(providers)]
		return pod
	}))
	must(t, rig.CreateAll(ctx, admin, pods/podsForService, func(i int) client.Object { return newService(namespace, fmt.Sprintf("front-%03d", i)) }))
	for _, provider := range s.Providers {
		s.run(t, provider, pods/len(providers))
	}
	s.eventually(t, "all local pods to run", func(ctx context.Context) error {
		var list corev1.PodList
		if err := s.Consumer.Watched.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		n := len(slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning }))
		if n != pods {
			return fmt.Errorf("%d of %d run", n, pods)
		}
		return nil
	})
}

// run waits for the pods of a provider, and plays its scheduler and its kubelets.
func (s *setup) run(t *testing.T, provider *rig.Cluster, want int) {
	var list corev1.PodList
	s.eventually(t, "the remote pods", func(ctx context.Context) error {
		err := provider.Watched.List(ctx, &list, client.InNamespace(remoteNamespace(inRestart)))
		if err == nil && len(list.Items) != want {
			return fmt.Errorf("%d pods in %s, want %d", len(list.Items), provider.ID, want)
		}
		return err
	})
	must(t, rig.ForEach(t.Context(), want, func(ctx context.Context, i int) error {
		pod := list.Items[i].DeepCopy()
		target := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
		if err := provider.Admin.SubResource("binding").Create(ctx, pod, target); err != nil {
			return err
		}
		before := pod.DeepCopy()
		pod.Status = running(pod, 0)
		return provider.Admin.Status().Patch(ctx, pod, client.StrategicMergeFrom(before))
	}))
}

// checkRestart checks all requests of the new manager.
func (s *setup) checkRestart(t *testing.T) {
	fills, others := map[string]int{}, map[string]int{}
	for _, request := range s.counter.Log(requests.OnlyWork) {
		switch {
		case requests.Writes(request.Key):
			t.Errorf("nothing has changed, and yet there is %s", request)
		case request.Fills:
			fills[request.String()]++
		case request.Verb != requests.Watch:
			others[fmt.Sprintf("%s %s of %s", request.Verb, request.Resource, request.Cluster)]++
		}
	}
	for what, times := range fills {
		if times != 1 {
			t.Errorf("read %d times, want once: %s", times, what)
		}
	}
	for _, resource := range []string{"pods", "configmaps", "secrets", "services", "networkpolicies", "endpointslices", "poddisruptionbudgets", "ingresses", "httproutes"} {
		for _, cluster := range s.All() {
			if n := others["get "+resource+" of "+cluster.ID]; n != 0 && resource == "pods" {
				t.Errorf("%d pods of %s were read by themselves", n, cluster.ID)
			}
		}
		for _, provider := range s.Providers {
			if n := reads(fills, provider.ID, resource); n != 1 {
				t.Errorf("the %s of %s were read %d times, want once: %v", resource, provider.ID, n, fills)
			}
		}
	}
	t.Logf("the restart has filled %d caches; and besides: %v", len(fills), others)
}

// reads counts the reads of a resource in a cluster. It leaves out the limits of a provider: they are one
// ConfigMap, which is not a copy. Nor are the pods of others, of which only the requests are held.
func reads(fills map[string]int, cluster, resource string) int {
	total := 0
	for what, times := range fills {
		words := strings.Fields(what)
		if words[0] == cluster+":" && words[2] == resource && !strings.Contains(what, "metadata.name="+v1alpha1.LimitsName) &&
			!strings.Contains(what, v1alpha1.LabelOrigin+"!=") {
			total += times
		}
	}
	return total
}

func (s *setup) versions(t *testing.T) map[string]string {
	t.Helper()
	versions, err := s.Versions(t.Context())
	must(t, err)
	return versions
}

// count counts the requests that begin with text, after the name of the cluster.
func count(all []requests.Request, text string) int {
	n := 0
	for _, request := range all {
		if _, what, _ := strings.Cut(request.String(), ": "); strings.HasPrefix(what, text+" ") {
			n++
		}
	}
	return n
}
