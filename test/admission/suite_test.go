// Package admission tests the admission policies of config/policy and config/provider on real API servers:
// server, spare, and one that TestNothingStandsInTheWay starts. The first test that needs one starts it.
//
// An API server applies a policy, and what the policy reads, a moment after the write. Tests therefore wait
// for it with settled or becomes. What they create then is subject to the policy.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// podsPolicy is the file that most tests are about.
const podsPolicy = "config/policy/pods.yaml"

// patience is how long an API server may take to apply a change. It can take half a minute, and more on a
// busy machine.
const patience = 2 * time.Minute

// root is the root of the repository.
var root = filepath.Join("..", "..")

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code := m.Run()
	for _, end := range slices.Backward(atEnd) {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "cleaning up:", err)
		}
	}
	os.Exit(code)
}

// read returns the objects of a file of the repository, after changes.
func read(file string, changes ...func(*unstructured.Unstructured)) ([]*unstructured.Unstructured, error) {
	objects, err := manifests.File(file)
	for _, object := range objects {
		for _, change := range changes {
			change(object)
		}
	}
	return objects, err
}

// set sets a field of an object.
func set(object *unstructured.Unstructured, value string, fields ...string) {
	if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
		panic(err) // The object is not what the test assumes.
	}
}

// reshape changes the pod policy.
func reshape(t *testing.T, changes ...func(*unstructured.Unstructured)) {
	t.Helper()
	objects, err := read(podsPolicy, changes...)
	for _, object := range objects {
		raw, problem := json.Marshal(object)
		err = errors.Join(err, problem, server(t).Patch(
			context.WithoutCancel(t.Context()), object, client.RawPatch(types.MergePatchType, raw), client.FieldValidation("Strict")))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// offloaded creates a namespace and, unless spec is nil, a NamespaceOffloading in it. It waits until the
// policy changes the namespace's pods.
func offloaded(t *testing.T, spec *v1alpha1.NamespaceOffloadingSpec) string {
	t.Helper()
	namespace := namespaceOf(t, nil)
	if spec == nil {
		return namespace
	}
	made(t, &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName},
		Spec:       *spec,
	})
	if spec.PodOffloadingStrategy != v1alpha1.PodsLocal { // Otherwise nothing would change.
		settled(t, server(t), true, namespace)
	}
	return namespace
}

// settled waits until the policy changes pods of the first namespace, or does not.
func settled(t *testing.T, c client.Client, changed bool, namespaces ...string) {
	t.Helper()
	create(t, c, func(pods []*corev1.Pod) bool { return toleratesVirtualNodes(pods[0]) == changed }, namespaces...)
}

// create creates a pod in each of the namespaces, as dry runs, until done returns true. No pod may be
// refused.
func create(t *testing.T, c client.Client, done func([]*corev1.Pod) bool, namespaces ...string) {
	t.Helper()
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		var pods []*corev1.Pod
		for _, namespace := range namespaces {
			pod := newPod(namespace)
			if err := c.Create(ctx, pod, client.DryRunAll); err != nil {
				return false, err
			}
			pods = append(pods, pod)
		}
		return done(pods), nil
	})
	if err != nil {
		t.Fatalf("creating pods in %v until an API server has taken up what changed: %v", namespaces, err)
	}
}

// becomes waits until a creation is refused with want, or is allowed if want is empty.
func becomes(t *testing.T, c client.Client, object client.Object, want string) {
	t.Helper()
	var last error
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		last = creating(c, object)(ctx)
		return says(last, want), nil
	})
	if err != nil {
		t.Fatalf("waiting for an answer that says %q: the last one was %v", want, last)
	}
}

// untilConfined waits until each policy refuses its probe.
func untilConfined(ctx context.Context, probes map[string]func(context.Context) error) error {
	for policy, probe := range probes {
		var last error
		err := eventually(ctx, func(ctx context.Context) (bool, error) {
			last = probe(ctx)
			return last != nil && strings.Contains(last.Error(), "'"+policy+"'"), nil
		})
		if err != nil {
			return fmt.Errorf("waiting until policy %s is in effect: %w", policy, errors.Join(err, last))
		}
	}
	return nil
}

// eventually waits until done returns true or an error, also after a test.
func eventually(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(context.WithoutCancel(ctx), 50*time.Millisecond, patience, true, done)
}

// newPod is a minimal pod.
func newPod(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
}

func toleratesVirtualNodes(pod *corev1.Pod) bool {
	taint := &corev1.Taint{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}
	return slices.ContainsFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
		return toleration.ToleratesTaint(logr.Discard(), taint, false)
	})
}
