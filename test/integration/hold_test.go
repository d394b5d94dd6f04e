package integration

import (
	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// holdFinalizer delays the deletion of a remote namespace. The state during the deletion then lasts until the
// spec releases it, on any machine.
const holdFinalizer = "example.com/hold"

// hold delays the deletion of a namespace, until release or the end of the spec.
func (c *controlPlane) hold(name string) {
	GinkgoHelper()
	change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(namespace *corev1.Namespace) {
		controllerutil.AddFinalizer(namespace, holdFinalizer)
	})
	DeferCleanup(func() { c.release(name) })
}

// release allows the deletion again, if the namespace still exists.
func (c *controlPlane) release(name string) {
	GinkgoHelper()
	if there, err := c.has(name)(); err == nil && there {
		change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(namespace *corev1.Namespace) {
			controllerutil.RemoveFinalizer(namespace, holdFinalizer)
		})
	}
}
