package crash

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
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

// percents are the shares of the work after which the manager is killed.
var percents = []int{20, 50, 80}

// podCrash is the state that the steps of the test share.
type podCrash struct {
	*rig.Rig
	ledger     *podLedger
	kubeconfig string
	t          *testing.T // Outlives the steps.
	manager    *process
}

// TestPodsKilled rolls pods out and deletes them again. It kills the manager in the middle of both.
func TestPodsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	c := &podCrash{Rig: rigUp(t, rig.Options{Name: "podcrash", Providers: providers, Nodes: 1}), t: t}
	c.kubeconfig = writeKubeconfig(t, c.Rig)
	var err error
	if c.ledger, err = watchPods(t.Context(), c.Rig); err != nil {
		t.Fatal(err)
	}
	if err := c.Bind(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.prepare(t)
	for _, step := range []struct {
		name string
		do   func(*testing.T)
	}{{"roll-out", c.killedWhileRollingOut}, {"deletion", c.killedWhileTakingBack}} {
		began := time.Now()
		if !t.Run(step.name, step.do) {
			return
		}
		t.Logf("%s: %.1fs", step.name, time.Since(began).Seconds())
	}
}

func (c *podCrash) start() { c.manager = start(c.t, c.kubeconfig) }

// prepare offloads the namespace of the pods, and creates the objects that they use.
func (c *podCrash) prepare(t *testing.T) {
	c.create(t, 1, rig.Namespace)
	c.create(t, 1, rig.Offloading)
	c.create(t, sharedCount, newSettings)
	c.create(t, sharedCount, newPassword)
	c.eventually(t, "the namespace to be offloaded", func(ctx context.Context) error {
		var offloading v1alpha1.NamespaceOffloading
		if err := c.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(rig.Offloading(0)), &offloading); err != nil {
			return err
		}
		if phase := offloading.Status.OffloadingPhase; phase != v1alpha1.OffloadingPhaseReady {
			return fmt.Errorf("it is %q", phase)
		}
		return nil
	})
}

func (c *podCrash) killedWhileRollingOut(t *testing.T) {
	creating := meanwhile(func() error { return rig.CreateAll(t.Context(), c.Consumer.Admin, podCount-held, newPod) })
	for _, percent := range percents {
		c.manager.killAt(t, &c.ledger.bells, moment{c.ledger.created, podCount * percent / 100})
		t.Logf("killed with %d of %d remote pods made", c.ledger.get(c.ledger.created), podCount)
		c.start()
	}
	awaitEnd(t, creating)
	c.create(t, podCount, newPod) // The pods that were held back.
	c.eventually(t, "all pods to run", c.running)
	c.check(t)
}

func (c *podCrash) killedWhileTakingBack(t *testing.T) {
	deleting := meanwhile(func() error { return rig.DeleteAll(t.Context(), c.Consumer.Admin, podCount-held, newPod) })
	for _, percent := range percents {
		c.manager.killAt(t, &c.ledger.bells, moment{c.ledger.finished, podCount * percent / 100})
		t.Logf("killed with %d of %d remote pods gone", c.ledger.get(c.ledger.finished), podCount)
		c.start()
	}
	awaitEnd(t, deleting)
	if err := rig.DeleteAll(t.Context(), c.Consumer.Admin, podCount, newPod); err != nil {
		t.Fatal(err)
	}
	c.eventually(t, "nothing to be left", c.nothingLeft)
	c.check(t)
}

// check checks what the ledger has recorded.
func (c *podCrash) check(t *testing.T) {
	for _, wrong := range c.ledger.wrong() {
		t.Error(wrong)
	}
	if n := c.ledger.get(c.ledger.created); n != podCount {
		t.Errorf("%d remote pods have been made, want %d", n, podCount)
	}
	if n := c.ledger.get(func() int { return len(c.ledger.copies) }); n != 2*sharedCount*len(providers) {
		t.Errorf("%d copies have been made, want each of %d in %d providers", n, 2*sharedCount, len(providers))
	}
}

func settings(i int) string { return fmt.Sprintf("settings-%d", i%sharedCount) }
func password(i int) string { return fmt.Sprintf("password-%d", i%sharedCount) }

func newSettings(i int) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: settings(i)}, Data: map[string]string{"key": "value"}}
}

func newPassword(i int) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: password(i)}, StringData: map[string]string{"key": "value"}}
}

// newPod returns a pod that is already on the virtual node.
func newPod(i int) client.Object {
	pair := i / len(providers) // So that each provider needs each of the copies.
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: fmt.Sprintf("web-%03d", i)},
		Spec: corev1.PodSpec{
			NodeName: v1alpha1.VirtualNodePrefix + providers[i%len(providers)],
			Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1", EnvFrom: []corev1.EnvFromSource{
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings(pair)}}},
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: password(pair)}}},
			}}},
		},
	}
}
