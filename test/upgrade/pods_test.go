//go:build upgrade

package upgrade

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	// mountNamespace is that of both providers, and mounted the local namespace
	// whose pods run in it.
	mountNamespace, mounted = "mounts", "team-mounted"
	// oneOf is how few pods do.
	oneOf = 4
	// shared is how many ConfigMaps, and Secrets, the pods of a namespace refer
	// to, each to one of either.
	shared = 10
)

// label is on all pods of this test, and on their remote ones.
var label = map[string]string{"app": "upgraded"}

func mine(pod *corev1.Pod) bool { return pod.Labels["app"] == label["app"] }

// offload makes a namespace that is offloaded, and one that is mounted, with what
// their pods refer to.
func (s *site) offload(t *testing.T) {
	namespaces := []string{rig.Namespace(0).GetName(), mounted}
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, len(namespaces), func(i int) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaces[i]}}
	}))
	must(t, s.Consumer.Admin.Create(t.Context(), rig.Offloading(0)))
	for _, namespace := range namespaces {
		must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, shared, func(i int) client.Object {
			return &corev1.ConfigMap{ObjectMeta: named(namespace, i), Data: map[string]string{"KEY": strconv.Itoa(i)}}
		}))
		must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, shared, func(i int) client.Object {
			return &corev1.Secret{ObjectMeta: named(namespace, i), Data: map[string][]byte{"PASSWORD": []byte("secret")}}
		}))
		must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error {
			return s.Consumer.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		}))
	}
	must(t, rig.Eventually(t.Context(), patience, s.offloadingReady))
}

func named(namespace string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("shared-%d", i%shared)}
}

// offloadingReady reports whether the offloading is not.
func (s *site) offloadingReady(ctx context.Context) error {
	var offloading v1alpha1.NamespaceOffloading
	if err := s.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(rig.Offloading(0)), &offloading); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(offloading.Status.Conditions, v1alpha1.OffloadingReady) {
		return fmt.Errorf("the offloading is %+v", offloading.Status)
	}
	return nil
}

// run makes so many more pods, and waits until all are Ready.
func (s *site) run(t *testing.T, more int) {
	first := s.count
	s.count += more
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, more, func(i int) client.Object { return s.pod(first + i) }))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error {
		var list corev1.PodList
		if err := s.Consumer.Watched.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingLabels(label)); err != nil {
			return err
		}
		ready, example := 0, ""
		for i := range list.Items {
			if readyPod(&list.Items[i]) {
				ready++
			} else {
				example = fmt.Sprintf("%s/%s is %+v", list.Items[i].Namespace, list.Items[i].Name, list.Items[i].Status)
			}
		}
		if ready != s.count {
			return fmt.Errorf("%d of %d pods are Ready; %s", ready, s.count, example)
		}
		return nil
	}))
	s.say("%d pods are Ready", s.count)
}

// pod is the i-th one, on each virtual node in turn.
func (s *site) pod(i int) *corev1.Pod {
	namespace := rig.Namespace(0).GetName()
	if i%oneOf == 1 {
		namespace = mounted
	}
	reference := corev1.LocalObjectReference{Name: named(namespace, i).Name}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("web-%05d", i), Labels: label},
		Spec: corev1.PodSpec{
			NodeName: v1alpha1.VirtualNodePrefix + s.Providers[i/oneOf%len(s.Providers)].ID,
			Containers: []corev1.Container{{
				Name: "web", Image: "web:1",
				EnvFrom: []corev1.EnvFromSource{
					{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference}},
					{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference}},
				},
			}},
		},
	}
}
