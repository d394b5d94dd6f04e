//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var _ = Describe("A Job in a provider", Ordered, Label("pods"), func() {
	var teal *team

	BeforeAll(func() { teal = newTeam("teal", eu) })

	It("succeeds, and its pods stay for as long as the Job does", func() {
		job := newJob(teal.namespace, "once")
		consumer.create(job)
		Eventually(read(consumer, job, &batchv1.Job{})).Should(
			haveCondition(string(batchv1.JobComplete), metav1.ConditionTrue), "the Job is complete")
		teal.bothSidesAgree()
		Expect(teal.remotePods()).To(HaveLen(1))
	})

	It("takes its pods along", func() {
		consumer.mustKubectl("delete", "job", "once", "-n", teal.namespace, "--timeout=60s")
		Eventually(teal.remotePods).Should(BeEmpty(), "the pods of the Job go in the provider")
		Eventually(teal.localPods).Should(BeEmpty(), "the pods of the Job go in the consumer")
	})
})

func newJob(namespace, name string) *batchv1.Job {
	spec := readingSpec(0)
	spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1.JobSpec{BackoffLimit: ptr.To[int32](0), Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}
