package clusters

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSecondUpReplacesTheFirst(t *testing.T) {
	ctx, dir := setUp(t)
	o := Options{Name: "twice", Dir: dir}
	first := up(ctx, t, o)
	uid := clusterUID(ctx, t, first)
	second := up(ctx, t, o)
	if clusterUID(ctx, t, second) == uid {
		t.Error("the second cluster has the data of the first")
	}
	if running, err := second.Running(); err != nil || len(running) != 2 {
		t.Errorf("want etcd and kube-apiserver once, got %v, %v", running, err)
	}
	opened, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := opened.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if clusterUID(ctx, t, opened) != clusterUID(ctx, t, second) {
		t.Error("the data did not survive Stop and Start")
	}
}

func TestFailureNamesTheComponentAndItsLog(t *testing.T) {
	ctx, dir := setUp(t)
	wrong := map[string]string{"no-such-flag": "x"}
	for component, o := range map[Component]Options{
		KubeAPIServer:         {APIServerArgs: wrong},
		KubeControllerManager: {Components: []Component{KubeControllerManager}, ControllerManagerArgs: wrong},
	} {
		o.Name, o.Dir = "broken", dir
		c, err := Up(ctx, o)
		if err == nil {
			_ = c.Down(ctx)
			t.Fatalf("%s: want an error", component)
		}
		for _, want := range []string{"broken", string(component) + " has ended", string(component) + ".log", "unknown flag: --no-such-flag"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("want %q in the error, got: %v", want, err)
			}
		}
		if running, err := handle(dir, "", "broken").Running(); err != nil || len(running) > 0 {
			t.Errorf("left running: %v, %v", running, err)
		}
	}
}

// A controller manager ends if its API server is not ready in time.
func TestClientOfTheAPIServerThatHasEndedIsStartedAgain(t *testing.T) {
	ctx, dir := setUp(t)
	c := up(ctx, t, Options{Name: "again", Dir: dir, Components: []Component{KubeControllerManager}})
	if err := c.kill(ctx, KubeControllerManager); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if running, err := c.Running(); err != nil || !slices.Contains(running, KubeControllerManager) {
		t.Errorf("want it to run again, got %v, %v", running, err)
	}
}

func TestClustersAtTheSameTime(t *testing.T) {
	ctx, dir := setUp(t)
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up(ctx, t, Options{Name: name, Dir: dir})
		})
	}
}

func clusterUID(ctx context.Context, t *testing.T, c *Cluster) string {
	t.Helper()
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(namespace.UID)
}
