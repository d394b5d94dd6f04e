package crash

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/performance/rig"
)

func (c *podCrash) create(t *testing.T, n int, object func(int) client.Object) {
	t.Helper()
	if err := rig.CreateAll(t.Context(), c.Consumer.Admin, n, object); err != nil {
		t.Fatal(err)
	}
}

func (c *podCrash) eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := rig.Eventually(t.Context(), patience, try); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// locals returns the pods that Spillway has to run, by UID.
func (c *podCrash) locals(ctx context.Context) (map[string]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.Consumer.Admin.List(ctx, &list, client.InNamespace(rig.Namespace(0).GetName())); err != nil {
		return nil, err
	}
	locals := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		locals[string(pod.UID)] = pod
	}
	return locals, nil
}

// ours lists the objects in a provider that have our mark. It does not read from a cache.
func (c *podCrash) ours(ctx context.Context, provider *rig.Cluster, list client.ObjectList) error {
	mark := provenance.Mark{Origin: c.ledger.origin, ClusterID: provider.ID}
	return provider.Admin.List(ctx, list, client.MatchingLabelsSelector{Selector: mark.Selector()})
}

// running returns an error unless each pod runs, in the consumer and in its provider, and the providers have
// no other pods.
func (c *podCrash) running(ctx context.Context) error {
	locals, err := c.locals(ctx)
	if err != nil {
		return err
	}
	if len(locals) != podCount {
		return fmt.Errorf("%d local pods, want %d", len(locals), podCount)
	}
	seen := 0
	for _, provider := range c.Providers {
		var remotes corev1.PodList
		if err := c.ours(ctx, provider, &remotes); err != nil {
			return err
		}
		seen += len(remotes.Items)
		for i := range remotes.Items {
			if err := isRunBy(locals, &remotes.Items[i], provider.ID); err != nil {
				return err
			}
		}
	}
	if seen != podCount {
		return fmt.Errorf("%d remote pods, want %d", seen, podCount)
	}
	return nil
}

// isRunBy returns an error unless the local pod names this remote pod and is on the node of this provider,
// and both run.
func isRunBy(locals map[string]corev1.Pod, remote *corev1.Pod, provider string) error {
	local, ok := locals[string(provenance.LocalOf(remote).UID)]
	switch {
	case !ok:
		return fmt.Errorf("remote pod %s of %s stands for none that there is", remote.Name, provider)
	case local.Spec.NodeName != v1alpha1.VirtualNodePrefix+provider:
		return fmt.Errorf("remote pod %s is in %s, but the local one on node %s", remote.Name, provider, local.Spec.NodeName)
	case local.Status.Phase != corev1.PodRunning || remote.Status.Phase != corev1.PodRunning:
		return fmt.Errorf("pod %s is %s here, and %s in %s", local.Name, local.Status.Phase, remote.Status.Phase, provider)
	case local.Annotations[v1alpha1.AnnotationRemoteUID] != string(remote.UID):
		return fmt.Errorf("pod %s names the remote UID %s, and not %s", local.Name, local.Annotations[v1alpha1.AnnotationRemoteUID], remote.UID)
	}
	return nil
}

// nothingLeft returns an error if any of the pods or copies is left on either side.
func (c *podCrash) nothingLeft(ctx context.Context) error {
	locals, err := c.locals(ctx)
	if err != nil {
		return err
	}
	if len(locals) > 0 {
		return fmt.Errorf("%d local pods are left", len(locals))
	}
	for _, provider := range c.Providers {
		for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
			if err := c.ours(ctx, provider, list); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d of %T are left in %s", n, list, provider.ID)
			}
		}
	}
	return errors.Join(c.unmarked(ctx, &corev1.ConfigMapList{}), c.unmarked(ctx, &corev1.SecretList{}))
}

// unmarked returns an error if a local object still has one of our marks.
func (c *podCrash) unmarked(ctx context.Context, list client.ObjectList) error {
	if err := c.Consumer.Admin.List(ctx, list, client.InNamespace(rig.Namespace(0).GetName())); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		keys := object.GetFinalizers()
		for key := range object.GetLabels() {
			keys = append(keys, key)
		}
		for key := range object.GetAnnotations() {
			keys = append(keys, key)
		}
		if text := strings.Join(keys, " "); strings.Contains(text, v1alpha1.Domain) {
			return fmt.Errorf("%T %s still has %s", item, object.GetName(), text)
		}
		return nil
	})
}
