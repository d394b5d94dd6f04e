package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A name in the provider that is somebody else's", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	// The manager tries again 5 seconds after the first try. One spec waits for all conflicts at once.
	It("is left alone, and used when it is free", slow, func() {
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
})

// conflict is an object in a provider that is in the way of a copy.
type conflict struct {
	// of is the kind, in the object in the way, and owner what the message says of it.
	of     string
	in     client.Object
	labels map[string]string
	owner  string
	// original has the same name and is needed by pod; or pod itself has the name.
	original client.Object
	needs    need
	pod      *corev1.Pod
}

func newForeignPod(namespace string) *corev1.Pod {
	pod := newPod(namespace)
	pod.Name = unique("taken")
	return pod
}
