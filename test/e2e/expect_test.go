//go:build e2e

package e2e

import (
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// needReal skips a spec that needs running containers if there is no real node.
func needReal() {
	GinkgoHelper()
	if withoutReal != nil {
		Skip(withoutReal.Error())
	}
}

// create creates objects. Namespaced ones are deleted with their namespace.
func (c *testCluster) create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.Create(ctx, object)).To(Succeed(), "creating %T %s in %s", object, object.GetName(), c.Name())
	}
}

// pod reads a pod; nil if it does not exist.
func (c *testCluster) pod(of client.Object) func() (*corev1.Pod, error) {
	return read(c, of, &corev1.Pod{})
}

// read reads an object by the name of another one; nil if it does not exist.
func read[T client.Object](c *testCluster, of client.Object, into T) func() (T, error) {
	key := client.ObjectKeyFromObject(of)
	return func() (T, error) {
		object := into.DeepCopyObject().(T)
		err := c.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			var none T
			return none, nil
		}
		return object, err
	}
}

// beGone matches the result of read for an object that does not exist.
func beGone() types.GomegaMatcher { return BeNil() }

// logs reads the logs of a pod through the API server.
func (c *testCluster) logs(pod client.Object) func() (string, error) {
	return func() (string, error) {
		raw, err := c.api.CoreV1().Pods(pod.GetNamespace()).GetLogs(pod.GetName(), &corev1.PodLogOptions{}).DoRaw(ctx)
		return string(raw), err
	}
}

// endedWith matches a pod whose only container has ended with that exit code.
func endedWith(code int32) types.GomegaMatcher {
	return WithTransform(func(pod *corev1.Pod) (int32, error) {
		if pod == nil || len(pod.Status.ContainerStatuses) != 1 || pod.Status.ContainerStatuses[0].State.Terminated == nil {
			return 0, fmt.Errorf("no container of the pod has ended")
		}
		return pod.Status.ContainerStatuses[0].State.Terminated.ExitCode, nil
	}, Equal(code))
}

// beReady matches a pod that is Ready.
func beReady() types.GomegaMatcher {
	return WithTransform(func(pod *corev1.Pod) bool {
		if pod == nil {
			return false
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	}, BeTrue())
}

// haveCondition matches an object of any kind with that condition.
func haveCondition(kind string, status metav1.ConditionStatus) types.GomegaMatcher {
	return WithTransform(func(object client.Object) (string, error) {
		return conditionStatus(object, kind)
	}, Equal(string(status)))
}

// conditionStatus returns the status of a condition. If the condition is missing, the error lists the others,
// so a failed wait shows them.
func conditionStatus(object client.Object, kind string) (string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	conditions, _, err := unstructured.NestedSlice(fields, "status", "conditions")
	for _, condition := range conditions {
		if of, ok := condition.(map[string]any); ok && of["type"] == kind {
			return fmt.Sprint(of["status"]), nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("%T %s has no condition %s: %v", object, object.GetName(), kind, conditions))
}
