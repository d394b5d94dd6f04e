package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A name in the provider that is somebody else's", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	// What is in the way is tried again 5 seconds after the first try: one spec
	// waits for all of them at once.
	It("is left alone, and used when it is free", func() {
		argocd := map[string]string{"app.kubernetes.io/managed-by": "argocd"}
		another := map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway, v1alpha1.LabelOrigin: "another", v1alpha1.LabelBinding: "theirs"}
		cases := []*conflict{
			{of: "Pod", in: newForeignPod(t.remote), labels: argocd, owner: "managed by argocd"},
			{of: "Pod", in: newForeignPod(t.remote), labels: another, owner: "belongs to Spillway's consumer another, binding theirs"},
			{of: "ConfigMap", in: newConfigMap(t.remote, unique("taken"), "theirs"), owner: "not created by Spillway",
				original: newConfigMap(t.namespace, "", "ours"), needs: withConfigMap},
			{of: "Secret", in: newSecret(t.remote, unique("taken"), "theirs"), labels: argocd, owner: "managed by argocd",
				original: newSecret(t.namespace, "", "ours"), needs: withSecret},
		}
		for _, c := range cases {
			c.in.SetLabels(c.labels)
			eu.make(c.in)
			if c.needs == nil {
				c.pod = t.run(podNamed(c.in.GetName()))
				continue
			}
			c.original.SetName(c.in.GetName())
			home.make(c.original)
			c.pod = t.run(c.needs(c.in.GetName(), false))
		}
		for _, c := range cases {
			t.staysHome(c.pod, v1alpha1.ReasonNameConflict,
				c.of+" "+t.remote+"/"+c.in.GetName()+" exists in provider "+t.cb.Spec.ClusterID, "left alone", c.owner)
			Expect(now(eu, c.in)()).To(HaveField("ObjectMeta.ResourceVersion", c.in.GetResourceVersion()))
		}
		for _, c := range cases {
			eu.drop(c.in)
		}
		for _, c := range cases {
			t.goesOn(c.pod)
			if c.original != nil {
				Expect(eu.value(c.in)()).To(Equal("ours"))
			}
		}
	})

	It("is that of a copy that has lost Spillway's labels", func() {
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		remote := in(t.remote, settings)
		first := eu.remotePod(t.cb, t.run(withConfigMap(settings.GetName(), false)))
		change(eu, remote, func(object client.Object) { object.SetLabels(nil) })
		second := t.run(withConfigMap(settings.GetName(), false))
		t.staysHome(second, v1alpha1.ReasonNameConflict, "ConfigMap "+t.remote+"/"+settings.GetName(), "left alone", "not created by Spillway")
		eu.drop(remote)
		t.goesOn(second)
		Expect(eu.fetching(first)()).To(Succeed())
	})
})

// conflict is an object of a provider in the way of one that is to be sent.
type conflict struct {
	// of is the kind, in is what is in the way, and owner what is said of it.
	of     string
	in     client.Object
	labels map[string]string
	owner  string
	// original has the same name, and pod needs it; or pod has it itself.
	original client.Object
	needs    need
	pod      *corev1.Pod
}

func newForeignPod(namespace string) *corev1.Pod {
	pod := newPod(namespace)
	pod.Name = unique("taken")
	return pod
}

var _ = Describe("The name of a pod", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("is the same in the provider, whatever it looks like", func() {
		long := strings.Repeat("a.b-c.", 42)
		for _, name := range []string{long + "x", long + "y", "1.2.3"} {
			config := newConfigMap(t.namespace, name, name)
			home.make(config)
			remote := eu.remotePod(t.cb, t.run(podNamed(name), withConfigMap(name, false)))
			Expect(client.ObjectKeyFromObject(remote)).To(Equal(client.ObjectKey{Namespace: t.remote, Name: name}))
			Expect(eu.value(in(t.remote, config))()).To(Equal(name))
		}
	})

	It("is hashed where namespaces share one, and collides with none", func() {
		shared, mount := team{spec: unique("spec")}, unique("mount")
		shared.cb = home.bind(eu, shared.spec, func(cb *v1alpha1.ClusterBinding) { cb.Spec.MountNamespace = mount })
		home.bindingIsReady(shared.cb)
		Eventually(home.condition(shared.cb, v1alpha1.BindingMountNamespaceReady)).Should(isTrue(v1alpha1.ReasonNamespaceActive), "it should be made")
		eu.takesPods(mount)

		seen := map[string]bool{}
		long := strings.Repeat("a", 29)
		for _, namespace := range []string{home.newNamespace(), home.newNamespace()} {
			home.takesPods(namespace)
			shared.sweepAfterwards(namespace)
			for _, name := range []string{"web", long + "aaaa", long + "aaab", long + ".com"} {
				home.make(newConfigMap(namespace, name, namespace+"/"+name))
				pod := home.runPod(shared.cb, namespace, podNamed(name), withConfigMap(name, false))
				remote := eu.remotePod(shared.cb, pod)
				Expect(remote.Namespace).To(Equal(mount))
				Expect(validation.IsDNS1123Label(remote.Name)).To(BeEmpty())
				Expect(remote.Name).To(HavePrefix(strings.TrimRight(name[:min(30, len(name))], ".") + "-"))
				config := remote.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
				Expect(eu.value(newConfigMap(mount, config, ""))()).To(Equal(namespace + "/" + name))
				Expect(seen).NotTo(HaveKey(remote.Name))
				seen[remote.Name] = true
			}
		}
	})
})
