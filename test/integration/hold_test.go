package integration

import (
	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// holdFinalizer keeps a remote namespace from going. What is to be seen while
// it goes lasts until the spec lets it go, however fast or slow the machine is.
const holdFinalizer = "example.com/hold"

// hold keeps a namespace from going, until release or the end of the spec.
func (c *controlPlane) hold(name string) {
	GinkgoHelper()
	change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(namespace *corev1.Namespace) {
		controllerutil.AddFinalizer(namespace, holdFinalizer)
	})
	DeferCleanup(func() { c.release(name) })
}

// release lets it go, if it is still there.
func (c *controlPlane) release(name string) {
	GinkgoHelper()
	if there, err := c.has(name)(); err == nil && there {
		change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(namespace *corev1.Namespace) {
			controllerutil.RemoveFinalizer(namespace, holdFinalizer)
		})
	}
}
