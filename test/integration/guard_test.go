package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/manager"
)

// All other specs run the manager with this account, so they show that the shipped policies allow its work.
var _ = Describe("A stolen token of the manager's account", func() {
	It("changes no Secret, and no pod or node that is not virtual", func() {
		t := newTeam()
		config, err := clientcmd.RESTConfigFromKubeConfig(home.kubeconfig(manager.DefaultNamespace, "spillway-manager"))
		Expect(err).NotTo(HaveOccurred())
		thief, err := client.New(config, client.Options{Scheme: manager.Scheme()})
		Expect(err).NotTo(HaveOccurred())

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "password"}, StringData: map[string]string{"a": "1"}}
		home.create(secret)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: unique("worker")}}
		home.create(node)
		local := newPod(t.namespace)
		local.Spec.NodeName = node.Name
		home.create(local)

		for _, err := range []error{
			thief.Patch(ctx, secret.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"Mg=="}}`))),
			thief.Delete(ctx, local.DeepCopy()),
			thief.Status().Patch(ctx, local.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"podIP":"10.0.0.1"}}`))),
			thief.Delete(ctx, node.DeepCopy()),
		} {
			Expect(err).To(MatchError(And(ContainSubstring("spillway-manager-"), ContainSubstring("denied request"))))
		}
	})
})
