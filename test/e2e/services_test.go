//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("A Service of an offloaded namespace", Ordered, func() {
	var olive *team

	BeforeAll(func() {
		needReal()
		olive = newTeam("olive", dc)
	})

	It("leads a pod to another one in the provider, by its name", func() {
		client := fetcher(olive.namespace, "client")
		consumer.create(serverIn(olive.namespace), serviceIn(olive.namespace), client)
		Eventually(consumer.pod(client)).Should(HaveField("Status.Phase", corev1.PodSucceeded), "the client has fetched the page")
		Expect(dc.logs(olive.remoteOf(client))()).To(ContainSubstring(page))
	})
})
