//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/performance/floor"
)

const (
	podsOfLife = 500
	runsOfLife = 3
	// asFloor is the variable that makes this program the floor, between the consumer and the
	// provider whose kubeconfigs it names.
	asFloor = "SPILLWAY_BENCH_FLOOR"
)

// TestPodLife compares the CPU that the manager takes for the life of a pod with that of the
// floor, which runs as a process of its own and follows the pods of its node. PROFILE=20
// writes a profile of the manager.
func TestPodLife(t *testing.T) {
	logTo(t, "podlife.log")
	b := startPods(t, providers[:1])
	report := PodLifeReport{Date: today(), Command: "make bench", Machine: docs.ThisMachine(b.version(t)), Pods: podsOfLife}
	for _, way := range []Way{Floor, Ours} {
		b.roll(t, PodsCase{N: warmUp, Providers: 1}, way)
	}
	for range runsOfLife {
		report.Floor = append(report.Floor, b.floorLife(t))
		report.Ours = append(report.Ours, b.roll(t, PodsCase{N: podsOfLife, Providers: 1}, Ours).Cost.CPUSeconds)
	}
	publishPart(t, "podlife", report, report.Markdown())
}

// floorLife has pods brought to a provider by the floor, and returns its CPU seconds.
func (b *podsRig) floorLife(t *testing.T) float64 {
	r, err := b.prepare(t.Context(), PodsCase{N: podsOfLife, Providers: 1}, Direct)
	must(t, err)
	r.way = Floor
	r.shown, err = watchPods(t.Context(), b.namespace(Floor), b.consumer)
	must(t, err)
	r.remote, err = watchPods(t.Context(), b.namespace(Floor), b.providers...)
	must(t, err)
	pods := b.consumer.CoreV1().Pods(b.namespace(Floor))
	r.create = func(ctx context.Context, i int) error {
		_, err := pods.Create(ctx, r.newPod(i), metav1.CreateOptions{})
		return err
	}
	r.remove = func(ctx context.Context, i int) error { return pods.Delete(ctx, r.podName(i), metav1.DeleteOptions{}) }
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), asFloor+"="+strings.Join([]string{b.Consumer.Kubeconfig, b.Rig.Providers[0].Kubeconfig, b.Rig.Providers[0].ID}, ","))
	command.Stderr = os.Stderr
	begun, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	_, err = begun.Read(make([]byte, 1)) // It has its watches.
	must(t, err)
	run, err := r.run(t.Context(), func() error { return nil })
	must(t, err, command.Process.Signal(syscall.SIGTERM), command.Wait())
	seconds := (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()
	b.say("the floor: created in %5.1f s, deleted in %5.1f s, %.2f CPU s", run.Create.Seconds, run.Delete.Seconds, seconds)
	return seconds
}

// runFloor is the floor as a process. It writes a line when it has its watches, and ends
// when it is told to.
func runFloor(arguments string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	consumer, rest, _ := strings.Cut(arguments, ",")
	provider, id, _ := strings.Cut(rest, ",")
	here, err1 := clientsFrom(consumer)
	there, err2 := clientsFrom(provider)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	running, err := floor.Floor{
		Consumer: here, Providers: []kubernetes.Interface{there}, Namespace: string(Floor) + "-pods", Nodes: map[string]int{floorNodeName(id): 0},
	}.Start(ctx)
	if err != nil {
		return err
	}
	fmt.Println("watching")
	<-ctx.Done()
	return running.Stop()
}

// clientsFrom are clients that cost as little as any can, see clientset.
func clientsFrom(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cheap(config))
}

// cheap speaks protobuf, without a rate limit.
func cheap(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	return config
}
