package crash

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	// podCount is the number of pods that are rolled out, half of them to each provider.
	podCount = 200
	// sharedCount is the number of ConfigMaps, and of Secrets, that the pods use. Each is in both providers.
	sharedCount = 10
	// held is the number of pods that are created, and later deleted, only after the last kill. So the
	// manager still has work to do when it dies, however slow the machine is.
	held = podCount / 10
)

// crash is the state that the steps of the test share.
type crash struct {
	*rig.Rig
	ledger     *oracle.Ledger
	marks      map[string]client.MatchingLabelsSelector // Of each provider.
	kubeconfig string
	manager    *process
}

// TestKilled rolls pods out and deletes them again. It kills the manager in the middle of both. The oracle of
// the faults watches all clusters.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	r := rigUp(t, rig.Options{Name: "crash", Providers: providers, Nodes: 1})
	c := &crash{Rig: r, marks: map[string]client.MatchingLabelsSelector{}}
	origin, err := r.Origin(t.Context())
	must(t, err)
	for _, provider := range providers {
		c.marks[provider] = client.MatchingLabelsSelector{Selector: provenance.Mark{Origin: origin, ClusterID: provider}.Selector()}
	}
	c.ledger, err = oracle.Watch(t.Context(), oracle.Lane{ConsumerID: consumerID, Clusters: r.All()})
	must(t, err)
	must(t, c.ledger.Begin(t.Context()))
	must(t, r.Bind(t.Context()))

	c.kubeconfig = writeKubeconfig(t, r)
	c.manager = start(t, c.kubeconfig)
	must(t, r.Consumer.Admin.Create(t.Context(), rig.Namespace(0)))
	must(t, r.Consumer.Admin.Create(t.Context(), rig.Offloading(0)))
	must(t, rig.CreateAll(t.Context(), r.Consumer.Admin, sharedCount, newShared))
	until(t, "the namespace to be offloaded", func(ctx context.Context) error { return isOffloaded(ctx, r) })

	c.killedDuring(t, "roll-out", rig.CreateAll, func(remote int) int { return remote })
	until(t, "all pods to run", c.running)
	c.check(t)
	c.killedDuring(t, "deletion", rig.DeleteAll, func(remote int) int { return podCount - remote })
	until(t, "nothing to be left", c.nothingLeft)
	c.check(t)
}

// killedDuring does something with all pods, and kills the manager three times meanwhile. done says for how
// many pods the manager has done it, if so many remote pods exist.
func (c *crash) killedDuring(
	t *testing.T, what string, do func(context.Context, client.Client, int, func(int) client.Object) error, done func(remote int) int,
) {
	t.Helper()
	working := make(chan error, 1) // When the test has failed, nobody waits for it.
	go func() { working <- do(t.Context(), c.Consumer.Admin, podCount-held, newPod) }()
	for _, percent := range []int{20, 50, 80} {
		until(t, fmt.Sprintf("%d %% of the %s", percent, what), func(ctx context.Context) error {
			remote, err := c.remotes(ctx)
			if err == nil && done(remote) < podCount*percent/100 {
				err = fmt.Errorf("%d of %d pods are done", done(remote), podCount)
			}
			return err
		})
		c.manager.kill(t)
		c.manager = start(t, c.kubeconfig)
	}
	must(t, <-working)
	must(t, do(t.Context(), c.Consumer.Admin, podCount, newPod)) // The pods that were held back.
}

// check checks what the oracle has seen: no rule was broken at any moment, and nothing was made twice.
func (c *crash) check(t *testing.T) {
	must(t, c.ledger.Settle(t.Context()))
	for _, violation := range c.ledger.Violations() {
		t.Error(violation)
	}
	counts := c.ledger.Counts()
	for _, provider := range providers {
		for kind, want := range map[string]int{"Pod": podCount / len(providers), "Secret": sharedCount} {
			if n := counts[provider+" "+kind+" ever"]; n != want {
				t.Errorf("%d times a %s has been made in %s, want %d", n, kind, provider, want)
			}
		}
	}
}

// remotes counts the remote pods in all providers.
func (c *crash) remotes(ctx context.Context) (int, error) {
	total := 0
	for _, provider := range c.Providers {
		var list corev1.PodList
		if err := provider.Watched.List(ctx, &list, c.marks[provider.ID]); err != nil {
			return 0, err
		}
		total += len(list.Items)
	}
	return total, nil
}

// running returns an error unless each pod runs, in the consumer and in its provider, and the providers have
// no other pods.
func (c *crash) running(ctx context.Context) error {
	var locals corev1.PodList
	if err := c.Consumer.Admin.List(ctx, &locals, client.InNamespace(rig.Namespace(0).GetName())); err != nil {
		return err
	}
	remotes := map[string]corev1.Pod{} // By the UID of the local pod.
	for _, provider := range c.Providers {
		var list corev1.PodList
		if err := provider.Admin.List(ctx, &list, c.marks[provider.ID]); err != nil {
			return err
		}
		for _, remote := range list.Items {
			remotes[provider.ID+" "+string(provenance.LocalOf(&remote).UID)] = remote
		}
	}
	if len(locals.Items) != podCount || len(remotes) != podCount {
		return fmt.Errorf("%d local pods and %d remote ones, want %d of both", len(locals.Items), len(remotes), podCount)
	}
	for _, local := range locals.Items {
		remote := remotes[strings.TrimPrefix(local.Spec.NodeName, v1alpha1.VirtualNodePrefix)+" "+string(local.UID)]
		switch {
		case local.Status.Phase != corev1.PodRunning || remote.Status.Phase != corev1.PodRunning:
			return fmt.Errorf("pod %s is %q here, and %q there", local.Name, local.Status.Phase, remote.Status.Phase)
		case local.Annotations[v1alpha1.AnnotationRemoteUID] != string(remote.UID):
			return fmt.Errorf("pod %s names the remote UID %s, and not %s", local.Name, local.Annotations[v1alpha1.AnnotationRemoteUID], remote.UID)
		}
	}
	return nil
}

// nothingLeft returns an error if any of the pods or copies is left, or if a local object is still protected.
func (c *crash) nothingLeft(ctx context.Context) error {
	var locals corev1.PodList
	if err := c.Consumer.Admin.List(ctx, &locals, client.InNamespace(rig.Namespace(0).GetName())); err != nil {
		return err
	}
	if n := len(locals.Items); n > 0 {
		return fmt.Errorf("%d local pods are left", n)
	}
	for i := range sharedCount {
		secret := newShared(i)
		if err := c.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if kept := secret.GetFinalizers(); len(kept) > 0 {
			return fmt.Errorf("Secret %s has the finalizers %v", secret.GetName(), kept)
		}
	}
	for _, provider := range c.Providers {
		for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.SecretList{}} {
			if err := provider.Admin.List(ctx, list, c.marks[provider.ID]); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d of %T are left in %s", n, list, provider.ID)
			}
		}
	}
	return nil
}

func shared(i int) string { return fmt.Sprintf("password-%d", i%sharedCount) }

func newShared(i int) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: shared(i)}, StringData: map[string]string{"key": "value"}}
}

// newPod returns a pod that is already on the virtual node.
func newPod(i int) client.Object {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: fmt.Sprintf("web-%03d", i)},
		Spec: corev1.PodSpec{
			NodeName: v1alpha1.VirtualNodePrefix + providers[i%len(providers)],
			Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1", EnvFrom: []corev1.EnvFromSource{
				// Each provider needs each of the Secrets.
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: shared(i / len(providers))}}},
			}}},
		},
	}
}
