//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	// nodesOfProvider is enough for 5,000 pods within the limit of a node.
	nodesOfProvider = 10
	// floorMark labels and taints the nodes of the floor.
	floorMark = "bench.spillway.io/floor"
)

// podsRig has a consumer, some providers, the manager and the floor. The manager and the floor each run in
// their own process. Spillway's pods are in the namespace rig.Namespace(0), the floor's and the direct ones
// in their own namespaces.
type podsRig struct {
	*site
	consumer  kubernetes.Interface
	providers []kubernetes.Interface
	watches   map[string]int // See mostWatches.
	floor     *floorProcess
	output    string // The directory for profiles.
	rollOuts  int    // How many have begun.
}

// startPods starts the clusters, and prepares everything but the pods.
func startPods(t *testing.T, ids []string) *podsRig {
	b := &podsRig{output: outputDir(t), watches: map[string]int{}}
	b.site = upSite(t, rig.Options{
		Name: "pods", Providers: ids, Nodes: nodesOfProvider, Scheduler: true,
		// The floor shows the cost of pods without Spillway, so without its policies, too.
		Exempt: []string{b.namespace(Floor), b.namespace(Direct)},
	}, "system:serviceaccount:"+floorNamespace+":floor")
	b.consumer = clientset(t, b.Consumer)
	for _, provider := range b.Providers {
		b.providers = append(b.providers, clientset(t, provider))
	}
	b.furnish(t)
	must(t, b.Bind(t.Context()))
	b.startFloor(t)
	b.start(t)
	must(t, rig.Eventually(t.Context(), patience, b.Bound))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error { return b.offloaded(ctx, 1) }))
	must(t, rig.Eventually(t.Context(), patience, b.accountsIn))
	return b
}

// clientset returns the cheapest possible client.
func clientset(t *testing.T, cluster *rig.Cluster) kubernetes.Interface {
	clients, err := kubernetes.NewForConfig(cheap(cluster.Config()))
	must(t, err)
	return clients
}

// furnish creates the namespaces, the nodes of the floor and the objects that pods share.
func (b *podsRig) furnish(t *testing.T) {
	for _, namespace := range []string{b.namespace(Ours), b.namespace(Floor)} {
		b.make(t, b.Consumer, namespace)
	}
	must(t, b.Consumer.Admin.Create(t.Context(), rig.Offloading(0)))
	for _, provider := range b.Providers {
		for _, namespace := range []string{b.namespace(Floor), b.namespace(Direct)} {
			b.make(t, provider, namespace)
		}
		must(t, b.Consumer.Admin.Create(t.Context(), floorNode(provider.ID)))
	}
}

// make creates a namespace and the objects that pods share.
func (b *podsRig) make(t *testing.T, c *rig.Cluster, namespace string) {
	must(t, c.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	for i := range sharedObjects {
		must(t, c.Admin.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sharedName(i)}, Data: map[string]string{"KEY": "value"},
		}))
		must(t, c.Admin.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sharedName(i)}, Data: map[string][]byte{"PASSWORD": []byte("secret")},
		}))
	}
}

func sharedName(i int) string { return fmt.Sprintf("shared-%d", i) }

// namespace returns a way's namespace in the consumer; for Direct, in the provider.
func (b *podsRig) namespace(way Way) string {
	switch way {
	case Ours:
		return rig.Namespace(0).GetName()
	case Floor:
		return floorNamespace
	default:
		return "provider-pods"
	}
}

// remoteNamespace returns a way's namespace in the providers.
func (b *podsRig) remoteNamespace(way Way) string {
	if way == Ours {
		return b.namespace(Ours) + "-" + consumerID
	}
	return b.namespace(way)
}

// floorNode is the floor's node for a provider. Nothing plays its kubelet: once Ready, it stays so.
func floorNode(provider string) *corev1.Node {
	much := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10k"), corev1.ResourceMemory: resource.MustParse("100Ti"), corev1.ResourcePods: resource.MustParse("10k"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: floorNodeName(provider), Labels: map[string]string{floorMark: ""}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: floorMark, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: much, Allocatable: much, Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}},
	}
}

func floorNodeName(provider string) string { return "floor-" + provider }

// accountsIn returns an error until every namespace has its ServiceAccount. Without it no pod is admitted.
func (b *podsRig) accountsIn(ctx context.Context) error {
	get := func(clients kubernetes.Interface, namespace string) error {
		_, err := clients.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	errs := []error{get(b.consumer, b.namespace(Ours)), get(b.consumer, b.namespace(Floor))}
	for _, provider := range b.providers {
		for _, way := range []Way{Ours, Floor, Direct} {
			errs = append(errs, get(provider, b.remoteNamespace(way)))
		}
	}
	return errors.Join(errs...)
}

// newPod returns the i-th pod of a roll-out.
func (r *rollOut) newPod(i int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace(r.way), Name: r.podName(i), Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "registry.example.com/web:1.2.3", Env: []corev1.EnvVar{{Name: "MODE", Value: "production"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
			}},
		}}},
	}
	if r.Shared {
		name := corev1.LocalObjectReference{Name: sharedName(i / r.Providers % sharedObjects)}
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name}},
		}
	}
	provider := r.podsRig.Providers[i%r.Providers].ID
	switch {
	case r.way == Floor && r.Scheduled:
		pod.Spec.NodeSelector = map[string]string{floorMark: ""}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: floorMark, Operator: corev1.TolerationOpExists}}
	case r.way == Floor:
		pod.Spec.NodeName = floorNodeName(provider)
	case r.way == Ours && !r.Scheduled:
		pod.Spec.NodeName = v1alpha1.VirtualNodePrefix + provider
	}
	return pod
}
