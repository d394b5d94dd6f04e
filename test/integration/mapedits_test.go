package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
)

var _ = Describe("Somebody edits the spec of a NamespaceMap", func() {
	DescribeTable("and nothing in the provider goes", func(edit string) {
		t := newTeam()
		home.create(newConfigMap(t.namespace, "settings", "1"))
		var locals, remotes []*corev1.Pod
		for range 3 {
			local, remote := t.running(withConfigMap("settings", false))
			locals, remotes = append(locals, local), append(remotes, remote)
		}
		nsm := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: t.cb.Name}}
		deletions := eu.deletionsOf(t.remote)
		Expect(home.Patch(ctx, nsm.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(edit)))).To(
			MatchError(ContainSubstring("only the manager may write spec.desiredMapping")))
		home.breakGlass(nsm)

		Expect(home.Patch(ctx, nsm, client.RawPatch(types.JSONPatchType, []byte(edit)))).To(Succeed())
		Eventually(func() ([]v1alpha1.DesiredMapping, error) {
			found, err := now(home, nsm)()
			return found.Spec.DesiredMapping, err
		}).Should(HaveExactElements(v1alpha1.DesiredMapping{Namespace: t.namespace, RemoteNamespace: t.remote}), "the entry is put back")
		Eventually(home.entry(t.cb, t.namespace)).Should(accepted)
		t.passes()
		Expect(deletions()).To(BeEmpty(), "nothing is deleted")
		for i := range locals {
			Expect(now(home, locals[i])()).To(HaveField("Status.Phase", corev1.PodRunning))
			Expect(now(eu, remotes[i])()).To(HaveField("UID", remotes[i].UID))
		}
	},
		Entry("by taking an entry out", slow, `[{"op":"remove","path":"/spec/desiredMapping/0"}]`),
		Entry("by taking all of them out", `[{"op":"remove","path":"/spec/desiredMapping"}]`),
		Entry("by giving an entry another name", slow, `[{"op":"replace","path":"/spec/desiredMapping/0/remoteNamespace","value":"elsewhere"}]`),
	)

	It("while the offloading is being deleted: its pods are evicted first all the same", slow, func() {
		t := newTeam()
		local, remote := t.running(labelled("app", "guarded"))
		budget := home.guard(t.namespace, "guarded", 1)
		home.drop(newOffloading(t.namespace, nil))
		Eventually(home.offloading(t.namespace)).Should(HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonEvictingPods, "refuses to evict "+nameOf(local)))))
		nsm := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: t.cb.Name}}
		home.breakGlass(nsm)
		Expect(home.Patch(ctx, nsm, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/desiredMapping/0"}]`)))).To(Succeed())
		Eventually(func() (*v1alpha1.DesiredMapping, error) {
			found, err := now(home, nsm)()
			return namespacemap.FindDesired(found.Spec.DesiredMapping, t.namespace), err
		}).ShouldNot(BeNil(), "the entry is put back for the pod's sake")
		Consistently(eu.namespace(t.remote)).Should(Not(going))
		Expect(now(eu, remote)()).To(Not(going))
		home.drop(budget)
		Eventually(now(eu, remote)).Should(going, "it is evicted")
		eu.end(remote)
		Eventually(home.fetching(newOffloading(t.namespace, nil))).Should(absent)
		Eventually(eu.has(t.remote)).Should(BeFalse())
	})
})

// breakGlass allows edits of the spec of a NamespaceMap.
func (c *controlPlane) breakGlass(nsm *v1alpha1.NamespaceMap) {
	GinkgoHelper()
	change(c, nsm, func(nsm *v1alpha1.NamespaceMap) {
		metav1.SetMetaDataAnnotation(&nsm.ObjectMeta, v1alpha1.AnnotationBreakGlass, "a test")
	})
}

// deletionsOf names the objects now in a namespace, including it, that are deleted or being deleted later.
func (c *controlPlane) deletionsOf(namespace string) func() ([]string, error) {
	GinkgoHelper()
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	var pods corev1.PodList
	var maps corev1.ConfigMapList
	Expect(c.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	Expect(c.List(ctx, &maps, client.InNamespace(namespace))).To(Succeed())
	for i := range pods.Items {
		objects = append(objects, &pods.Items[i])
	}
	for i := range maps.Items {
		objects = append(objects, &maps.Items[i])
	}
	return func() ([]string, error) {
		var deleted []string
		for _, object := range objects {
			found, ok := object.DeepCopyObject().(client.Object)
			if !ok {
				continue
			}
			err := c.Get(ctx, client.ObjectKeyFromObject(object), found)
			if client.IgnoreNotFound(err) != nil {
				return nil, err
			}
			if err != nil || !found.GetDeletionTimestamp().IsZero() || (object.GetUID() != "" && found.GetUID() != object.GetUID()) {
				deleted = append(deleted, object.GetNamespace()+"/"+object.GetName())
			}
		}
		return deleted, nil
	}
}
