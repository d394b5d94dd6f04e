package integration

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/manifests"
)

const bindingKind = "ClusterBinding"

// upgraded is a consumer with CustomResourceDefinitions of another version than the manager's. Older ones
// lack fields. Newer ones have fields that this manager does not know.
type upgraded struct {
	*controlPlane
	shipped map[string]*unstructured.Unstructured // The definitions, by kind.
	run     *managerRun
	writes  atomic.Int64 // The manager's writes to Spillway's own kinds.
}

// start starts a manager.
func (u *upgraded) start() {
	GinkgoHelper()
	u.run = startManager(u.controlPlane, manager.Options{
		ConsumerID: homeID, Fleet: fleet.Options{LeaseDuration: 10 * time.Second},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/apis/"+v1alpha1.GroupVersion.Group+"/") {
					u.writes.Add(1)
				}
				return next.RoundTrip(req)
			})
		},
	})
}

// define changes the shipped schema of a kind, and waits until the API server publishes the result.
func (u *upgraded) define(kind string, change func(schema map[string]any)) {
	GinkgoHelper()
	before := u.published()
	object := u.shipped[kind].DeepCopy()
	versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	if change != nil {
		change(within(versions[0], "schema", "openAPIV3Schema"))
	}
	Expect(unstructured.SetNestedSlice(object.Object, versions, "spec", "versions")).To(Succeed())
	there := object.DeepCopy()
	Expect(u.Get(ctx, client.ObjectKeyFromObject(object), there)).To(Succeed())
	object.SetResourceVersion(there.GetResourceVersion())
	Expect(u.Update(ctx, object)).To(Succeed())
	Eventually(u.published).ShouldNot(Equal(before), "the schema of %s is published", kind)
}

// published returns the path at which the schemas of Spillway's kinds are published. It contains their hash.
func (u *upgraded) published() string {
	GinkgoHelper()
	served, err := discovery.NewDiscoveryClientForConfig(u.Config())
	Expect(err).NotTo(HaveOccurred())
	paths, err := served.OpenAPIV3().Paths()
	Expect(err).NotTo(HaveOccurred())
	Expect(paths).To(HaveKey("apis/" + v1alpha1.GroupVersion.String()))
	return paths["apis/"+v1alpha1.GroupVersion.String()].ServerRelativeURL()
}

// settles waits until the manager writes nothing more.
func (u *upgraded) settles(what string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Consistently(u.writes.Load).Should(Equal(u.writes.Load()))
	}).Should(Succeed(), "it writes for ever: %s", what)
}

func (u *upgraded) fields(kind string) map[string]any {
	GinkgoHelper()
	versions, _, err := unstructured.NestedSlice(u.shipped[kind].Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	return within(versions[0], "schema", "openAPIV3Schema", "properties", "status", "properties")
}

// within returns a nested map.
func within(of any, path ...string) map[string]any {
	GinkgoHelper()
	object, ok := of.(map[string]any)
	Expect(ok).To(BeTrue())
	for _, name := range path {
		object, ok = object[name].(map[string]any)
		Expect(ok).To(BeTrue(), "there is no %s", name)
	}
	return object
}

var _ = Describe("An upgrade", Ordered, slow, func() {
	var (
		u             = &upgraded{shipped: map[string]*unstructured.Unstructured{}}
		spec          = unique("spec")
		cb            *v1alpha1.ClusterBinding
		team          string
		local, remote *corev1.Pod
	)
	skewed := func() (bool, error) {
		binding, err := u.binding(cb.Name)
		return meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingVersionSkew) != nil, err
	}
	says := func(reason, what string) {
		GinkgoHelper()
		Eventually(u.condition(cb, v1alpha1.BindingVersionSkew)).Should(isTrue(reason, what))
	}
	nobodyHasRestarted := func() {
		GinkgoHelper()
		Expect(now(u.controlPlane, local)()).To(And(HaveField("UID", local.UID), Not(going), HaveField("Status.Phase", corev1.PodRunning)), "here")
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), Not(going)), "there")
	}

	BeforeAll(func() {
		u.controlPlane = newControlPlane(clusters.Options{
			Name: "upgraded", Components: []clusters.Component{clusters.KubeControllerManager}, ControllerManagerArgs: quiet,
		})
		u.install("config/default")
		shipped, err := manifests.Kustomized(ctx, "config/default")
		Expect(err).NotTo(HaveOccurred())
		for _, object := range shipped {
			if kind, ok, _ := unstructured.NestedString(object.Object, "spec", "names", "kind"); ok {
				u.shipped[kind] = object
			}
		}
		team = u.offloadNew(selecting(labelSpec, spec))
	})

	It("says that the holder is not kept, and writes and connects once it is", func() {
		u.define(bindingKind, func(schema map[string]any) {
			delete(within(schema, "properties", "status", "properties", "holder", "properties"), "identity")
		})
		u.start()
		cb = newBinding(unique("upgraded"), withLabels(labelSpec, spec))
		u.putKubeconfig(cb.Name, eu.providerKubeconfig())
		u.make(cb)
		says(v1alpha1.ReasonDefinitionsOlder, bindingKind+".status.holder.identity")
		Eventually(u.condition(cb, v1alpha1.BindingConnected)).Should(HaveField("Reason", v1alpha1.ReasonHolderNotRecorded))
		u.settles("the holder")

		u.define(bindingKind, nil)
		Eventually(skewed).Should(BeFalse())
		u.bindingIsReady(cb)
		u.offloadingIsReady(team)
		u.takesPods(team)
		eu.takesPods(remoteName(team))
		local = u.runPod(cb, team)
		remote = eu.remotePod(cb, local)
		eu.schedule(remote)
		eu.setPodStatus(remote, corev1.PodRunning)
		Eventually(u.podPhase(local)).Should(Equal(corev1.PodRunning))
	})

	It("restarts no pod and settles, whichever field of a status the older definitions lack", func() {
		changed := ""
		for kind := range u.shipped {
			for field := range u.fields(kind) {
				// Nothing can be reported without conditions. Without a holder or an identity the manager
				// must not go on, and the API server loses the old value.
				if field == "conditions" || kind == bindingKind && (field == "holder" || field == "remoteClusterUID") {
					continue
				}
				By(kind + ".status." + field)
				u.run.stop()
				if changed != "" && changed != kind {
					u.define(changed, nil)
				}
				u.define(kind, func(schema map[string]any) { delete(within(schema, "properties", "status", "properties"), field) })
				changed = kind
				u.start()
				says(v1alpha1.ReasonDefinitionsOlder, kind+".status."+field)
				u.settles(kind + ".status." + field)
				nobodyHasRestarted()
			}
		}
		u.define(changed, nil)
		Eventually(skewed).Should(BeFalse())
	})

	It("keeps what newer definitions have, and deletes nothing by a policy that it does not know", func() {
		u.run.stop()
		u.define(bindingKind, func(schema map[string]any) {
			spec := within(schema, "properties", "spec", "properties")
			spec["further"] = map[string]any{"type": "string"}
			policy := within(spec["deletionPolicy"])
			policy["enum"] = append(policy["enum"].([]any), "Keep")
		})
		u.start()
		says(v1alpha1.ReasonDefinitionsNewer, bindingKind+".spec.deletionPolicy=Keep, "+bindingKind+".spec.further")
		whole := &unstructured.Unstructured{}
		whole.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(bindingKind))
		Expect(u.Get(ctx, client.ObjectKeyFromObject(cb), whole)).To(Succeed())
		before := whole.DeepCopy()
		Expect(unstructured.SetNestedField(whole.Object, "x", "spec", "further")).To(Succeed())
		Expect(unstructured.SetNestedField(whole.Object, "Keep", "spec", "deletionPolicy")).To(Succeed())
		whole.SetFinalizers(nil)
		Expect(u.Patch(ctx, whole, client.MergeFrom(before))).To(Succeed())
		Eventually(now(u.controlPlane, cb)).Should(HaveField("Finalizers", Not(BeEmpty())), "it has written the object")
		Expect(u.Get(ctx, client.ObjectKeyFromObject(cb), whole)).To(Succeed())
		Expect(within(whole.Object, "spec")).To(And(HaveKeyWithValue("further", "x"), HaveKeyWithValue("deletionPolicy", "Keep")))

		u.drop(cb)
		Eventually(u.condition(cb, v1alpha1.BindingDrained)).Should(HaveField("Reason", v1alpha1.ReasonPolicyUnknown))
		u.settles("the deletion")
		nobodyHasRestarted()
		Expect(u.Patch(ctx, whole, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletionPolicy":"Drain"}}`)))).To(Succeed())
		Eventually(now(eu, remote)).Should(going)
		eu.end(remote)
		u.drop(newOffloading(team, nil))
		Eventually(u.fetching(cb)).Should(absent)
		u.run.stop()
	})
})
