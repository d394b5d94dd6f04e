package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/order"
)

// The story of pods that spill over and come back is in namespace shop. Somebody else's Deployment, the neighbour,
// takes up some of the consumer's own nodes.
const (
	shop      = "shop"
	neighbour = "neighbour"
	// cpuOfPod is what each pod of the story requests, in thousandths, also those of the neighbour.
	cpuOfPod = 5000
)

var storyFiles = []string{"manifests/spill.yaml", "manifests/neighbour.yaml"}

// load is how many pods the team asks for, one after the other. The last number is asked for twice: then the
// neighbour leaves, and there is more room.
var load = []int{3, 10, 18, 11, 6}

// lasts is how long each number is asked for, so that users and the pictures see it.
const lasts = 3 * time.Second

// story tells the story of `make demo STORY=spill` in a demo that runs, and fails if it does not go as told.
func (d *demo) story(ctx context.Context, name string) error {
	if name != "spill" {
		return fmt.Errorf("there is no story %q, only spill", name)
	}
	var err error
	if d.clusters, err = d.openAll(); err != nil || d.clusters == nil {
		return errors.Join(err, errors.New("there is no demo: run make demo"))
	}
	if err := d.connect(); err != nil {
		return err
	}
	d.say("the story: pods spill over from the consumer's own nodes to eu, then to us, and come back")
	if err := d.stage(ctx); err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(d.clusters[consumer].Config())
	if err != nil {
		return err
	}
	log, err := order.Watch(ctx, clients, shop, tierOfNode)
	if err != nil {
		return err
	}
	rooms, err := d.rooms(ctx)
	if err != nil {
		return err
	}
	log.Rooms(rooms)
	err = d.riseAndFall(ctx, log, rooms)
	if err == nil {
		err = d.comeBack(ctx, log, rooms)
	}
	return errors.Join(err, d.drawStory(log.Events())) // The picture also shows how it went wrong.
}

// stage brings everything into the state in which the story begins. If it was told before, the namespace still knows of
// returns, and would wait longer.
func (d *demo) stage(ctx context.Context) error {
	if _, err := d.kubectl(ctx, consumer, nil, "delete", "namespace", shop, "--ignore-not-found", "--timeout=2m"); err != nil {
		return err
	}
	if err := d.applyFiles(ctx, storyFiles); err != nil {
		return err
	}
	return d.wait(ctx, func(ctx context.Context) ([]error, error) {
		var missing []error
		for _, err := range []error{d.offloadingReady(ctx, shop), d.runs(ctx, "default", neighbour), d.runs(ctx, shop, "web")} {
			if err != nil {
				missing = append(missing, err)
			}
		}
		return missing, nil
	}, "namespace shop has three tiers, and its neighbour runs")
}

// runs returns an error until a Deployment has exactly the pods that it asks for.
func (d *demo) runs(ctx context.Context, namespace, name string) error {
	deployment := &appsv1.Deployment{}
	if err := d.consumer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, deployment); err != nil {
		return fmt.Errorf("deployment %s/%s: %w", namespace, name, err)
	}
	want, is := *deployment.Spec.Replicas, deployment.Status
	if is.ObservedGeneration != deployment.Generation || is.Replicas != want || is.ReadyReplicas != want {
		return fmt.Errorf("deployment %s/%s: %d pods, of which %d are ready, want %d", namespace, name, is.Replicas, is.ReadyReplicas, want)
	}
	return nil
}

// tierOfNode returns the tier of a node, as in manifests/spill.yaml.
func tierOfNode(node string) int {
	return 1 + slices.Index(providers, strings.TrimPrefix(node, offloadingv1alpha1.VirtualNodePrefix))
}

// rooms returns how many pods of the story each tier has room for, beside those of others.
func (d *demo) rooms(ctx context.Context) ([]int, error) {
	var nodes corev1.NodeList
	var pods corev1.PodList
	if err := errors.Join(d.consumer.List(ctx, &nodes), d.consumer.List(ctx, &pods)); err != nil {
		return nil, fmt.Errorf("listing nodes and pods: %w", err)
	}
	used := map[string]int64{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Namespace != shop {
			for j := range pod.Spec.Containers {
				used[pod.Spec.NodeName] += pod.Spec.Containers[j].Resources.Requests.Cpu().MilliValue()
			}
		}
	}
	rooms := make([]int, len(tierLooks))
	for i := range nodes.Items {
		node := &nodes.Items[i]
		rooms[tierOfNode(node.Name)] += int((node.Status.Allocatable.Cpu().MilliValue() - used[node.Name]) / cpuOfPod)
	}
	return rooms, nil
}

// riseAndFall asks for more and more pods, and then for fewer.
func (d *demo) riseAndFall(ctx context.Context, log *order.Log, rooms []int) error {
	for _, pods := range load {
		log.Ask(pods, fmt.Sprintf("%d pods", pods))
		if err := d.scale(ctx, shop, "web", pods); err != nil {
			return err
		}
		if err := d.follow(ctx, log, order.Settled(pods)); err != nil {
			return fmt.Errorf("%d pods of namespace %s: %w", pods, shop, err)
		}
		d.say("%2d pods: %s", pods, distribution(order.Fill(pods, rooms)))
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// comeBack removes the neighbour, and waits until pods have returned to the room that it leaves.
func (d *demo) comeBack(ctx context.Context, log *order.Log, rooms []int) error {
	pods := load[len(load)-1]
	log.Ask(pods, "the neighbour leaves")
	if err := d.scale(ctx, "default", neighbour, 0); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, consumer, nil, "wait", "--for=delete", "pod", "-l", "app="+neighbour, "-n", "default", "--timeout=2m"); err != nil {
		return err
	}
	before := order.Fill(pods, rooms)
	rooms, err := d.rooms(ctx)
	if err != nil {
		return err
	}
	log.Rooms(rooms)
	want := order.Fill(pods, rooms)
	if want[0] == before[0] {
		return fmt.Errorf("no pod of namespace %s has a reason to return: %s", shop, distribution(want))
	}
	d.say("the neighbour is gone: pods return once there has been room for them for a minute")
	if err := d.follow(ctx, log, func(s order.State) bool { return order.Settled(pods)(s) && slices.Equal(s.In, want) }); err != nil {
		return fmt.Errorf("the return of pods of namespace %s: %w", shop, err)
	}
	d.say("%2d pods: %s", pods, distribution(want))
	return nil
}

func (d *demo) scale(ctx context.Context, namespace, deployment string, pods int) error {
	_, err := d.kubectl(ctx, consumer, nil, "scale", "deployment", deployment, "-n", namespace, fmt.Sprintf("--replicas=%d", pods))
	return err
}

// follow waits until the pods are as wanted, and fails if any has not kept to the order.
func (d *demo) follow(ctx context.Context, log *order.Log, wanted func(order.State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*readyTimeout)
	defer cancel()
	err := log.Await(ctx, len(tierLooks), wanted)
	if violations := order.Violations(log.Events()); len(violations) > 0 {
		err = errors.Join(err, errors.New(strings.Join(violations, "\n")))
	}
	return err
}

// distribution says how many pods are in each tier.
func distribution(in []int) string {
	parts := make([]string, len(in))
	for tier, n := range in {
		parts[tier] = fmt.Sprintf("%d on %s", n, tierLooks[tier].name)
	}
	return strings.Join(parts, ", ")
}

// drawStory shows the pictures, and keeps one in bin/demo, with what it was drawn from.
func (d *demo) drawStory(events []order.Event) error {
	raw, err := json.Marshal(events)
	if err != nil {
		return err
	}
	drawn := filepath.Join(d.dir, "spill.svg")
	if err := errors.Join(os.WriteFile(drawn, []byte(picture(events)), 0o600), os.WriteFile(filepath.Join(d.dir, "spill.json"), raw, 0o600)); err != nil {
		return fmt.Errorf("keeping the picture: %w", err)
	}
	fmt.Printf("\n%s\nThe picture is %s. To look at the pods and to go on:\n\n"+
		"  bin/kube/kubectl --kubeconfig %[3]s get pods -n %[4]s -o wide\n"+
		"  bin/kube/kubectl --kubeconfig %[3]s get events -n %[4]s\n"+
		"  bin/kube/kubectl --kubeconfig %[3]s scale deployment web -n %[4]s --replicas=18\n",
		bars(events), d.relative(drawn), d.relative(d.kubeconfig(consumer)), shop)
	return nil
}
