//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A container that runs in a provider", Ordered, Label("pods"), func() {
	var amber *team

	BeforeAll(func() {
		needReal()
		amber = newTeam("amber", dc)
	})

	It("reads its ConfigMap and its Secret, and its exit code comes back", short, func() {
		pod := reader(amber.namespace, "reader", 7)
		consumer.create(pod)
		Eventually(consumer.pod(pod)).Should(HaveField("Status.Phase", corev1.PodFailed), "the container ends with 7")
		Expect(consumer.pod(pod)()).To(And(endedWith(7), HaveField("Spec.NodeName", virtualNode(dc.Name()))))
		Expect(dc.logs(amber.remoteOf(pod))()).To(And(
			ContainSubstring("from env: hello/secret"),
			ContainSubstring("from files: hello/secret"),
		))
	})

	It("makes a Deployment ready", func() {
		consumer.create(newDeployment(amber.namespace, "web", 2))
		amber.rolledOut("web")
		amber.bothSidesAgree()
		for _, pod := range amber.pods("web") {
			Expect(pod.Status.PodIP).To(BeEmpty(), "there is no route to the address that the provider gave")
			Expect(amber.remotePod(&pod)()).To(HaveField("Status.PodIP", pod.Annotations[v1alpha1.AnnotationRemoteIP]), "people are told of it")
		}
	})

	It("makes a Job succeed", func() {
		job := newJob(amber.namespace, "once")
		consumer.create(job)
		Eventually(read(consumer, job, &batchv1.Job{})).Should(
			haveCondition(string(batchv1.JobComplete), metav1.ConditionTrue), "the Job is complete")
	})

	It("is restarted in the provider, which shows in the consumer", func() {
		spec := podSpec("exit 3")
		spec.RestartPolicy = corev1.RestartPolicyAlways
		pod := newPod(amber.namespace, "failing", spec)
		consumer.create(pod)
		Eventually(consumer.pod(pod)).Should(HaveField("Status.ContainerStatuses",
			ConsistOf(HaveField("RestartCount", BeNumerically(">=", 1)))), "the kubelet starts the container again")
		consumer.mustKubectl("delete", "pod", pod.Name, "-n", pod.Namespace, "--timeout=60s")
	})

	It("sees a change of its ConfigMap", func() {
		spec := podSpec(`while sleep 1; do cat /greeting/word; echo; done`)
		readBoth(&spec)
		pod := newPod(amber.namespace, "watcher", spec)
		consumer.create(pod)
		Eventually(dc.logs(amber.remoteOf(pod))).Should(ContainSubstring("hello"), "the container prints its file")
		consumer.mustKubectl("patch", "configmap", greetingName, "-n", amber.namespace, "--type=merge", `-p={"data":{"word":"bonjour"}}`)
		Eventually(dc.logs(amber.remoteOf(pod))).Should(ContainSubstring("bonjour"), "the change reaches the file in the container")
	})

	It("has as long to end as kubectl says", func() {
		spec := podSpec(`trap "echo asked to end" TERM; while true; do sleep 1; done`)
		spec.TerminationGracePeriodSeconds = ptr.To[int64](600)
		pod := newPod(amber.namespace, "stubborn", spec)
		consumer.create(pod)
		Eventually(consumer.pod(pod)).Should(beReady(), "the container runs")
		begin := time.Now()
		consumer.mustKubectl("delete", "pod", pod.Name, "-n", pod.Namespace, "--grace-period=3", "--timeout=60s")
		Expect(time.Since(begin)).To(BeNumerically(">=", 2*time.Second), "the container had no time to end")
		Expect(amber.remotePod(pod)()).To(beGone(), "a local pod outlives the remote one")
	})

	It("does not outlive a pod that is deleted by force", func() {
		pod := sleeper(amber.namespace, "forced")
		consumer.create(pod)
		Eventually(consumer.pod(pod)).Should(beReady(), "the container runs")
		consumer.mustKubectl("delete", "pod", pod.Name, "-n", pod.Namespace, "--force", "--grace-period=0")
		Expect(consumer.pod(pod)()).To(beGone(), "force does not wait for anybody")
		Eventually(amber.remotePod(pod)).Should(beGone(), "the remote pod of a local one that is gone is deleted")
	})

	It("goes with its namespace", short, func() {
		Expect(consumer.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: amber.namespace}})).To(Succeed())
		Eventually(read(consumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: amber.namespace}}, &corev1.Namespace{})).
			Should(beGone(), "the namespace is deleted")
		Expect(amber.remotePods()).To(BeEmpty(), "a local namespace outlives remote pods")
	})
})
