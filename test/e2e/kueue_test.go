//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// queueing labels the specs with the real Kueue. make test-long builds it, and runs them.
var queueing = Label("kueue")

const (
	kueueNamespace = "kueue-system"
	queueLabel     = "kueue.x-k8s.io/queue-name"
)

// The page docs/kueue.md, as it stands.
var _ = Describe("Kueue", Ordered, queueing, func() {
	var us *testCluster
	teams := []string{"team-a", "team-b"}
	var page *commandsOnPage

	BeforeAll(func() {
		page = commandsOf("docs/kueue.md")
		us = newTestCluster(testcluster.Options{Name: "us", Nodes: 1, Log: GinkgoWriter})
		us.install("config/provider")
		bind(us)
		bound(us)
		for name, provider := range map[string]*testCluster{"eu": eu, "us": us} {
			provider.mustKubectl("label", "nodes", "--all", "--overwrite", providerLabel+"="+name)
		}
		startKueue()
		for _, team := range teams {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}
			consumer.create(namespace)
			DeferCleanup(func() { Expect(client.IgnoreNotFound(consumer.Delete(ctx, namespace))).To(Succeed()) })
		}
		page.run("kubectl label namespace")
		for _, team := range teams {
			offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1alpha1.OffloadingName}}
			Eventually(read(consumer, offloading, &v1alpha1.NamespaceOffloading{})).Should(haveCondition(v1alpha1.OffloadingReady, metav1.ConditionTrue))
			Eventually(func() (*corev1.Pod, error) {
				pod := newPod(team, "dry-run", podSpec(""))
				return pod, consumer.Create(ctx, pod, client.DryRunAll)
			}).Should(HaveField("Spec.Tolerations", ContainElement(HaveField("Key", v1alpha1.TaintVirtualNode))))
		}
		page.run("kubectl label nodes")
		page.run("kubectl apply")
	})

	It("fills the consumer, then eu, then us, and each flavor that it charges is where the pod runs", func() {
		var jobs []*batchv1.Job
		for i := range 8 {
			job := queuedJob(teams[i/4], fmt.Sprintf("job-%d", i))
			consumer.create(job)
			jobs = append(jobs, job)
			Eventually(flavorOf(job)).ShouldNot(BeEmpty(), "the next one is created when this one has its place")
		}
		var order []string
		for _, job := range jobs {
			flavor, err := flavorOf(job)()
			Expect(err).NotTo(HaveOccurred())
			order = append(order, flavor)
			Eventually(podOfJob(job)).Should(beReady(), "job %s runs in %s", job.Name, flavor)
			pod, err := podOfJob(job)()
			Expect(err).NotTo(HaveOccurred())
			provider := map[string]*testCluster{"eu": eu, "us": us}[flavor]
			if provider == nil {
				Expect(pod.Spec.NodeName).NotTo(HavePrefix(v1alpha1.VirtualNodePrefix))
				continue
			}
			Expect(pod.Spec.NodeName).To(Equal(virtualNode(flavor)))
			remote, err := provider.pod(remoteOf(pod))()
			Expect(err).NotTo(HaveOccurred())
			Expect(remote).To(HaveField("Spec.NodeSelector", BeEmpty()))
			node := &corev1.Node{}
			Expect(provider.Get(ctx, client.ObjectKey{Name: remote.Spec.NodeName}, node)).To(Succeed())
			Expect(node.Labels).To(HaveKeyWithValue(providerLabel, flavor), "it runs on a node of %s", flavor)
			for key := range remote.Labels {
				Expect(key).NotTo(ContainSubstring("kueue"))
			}
			for key := range remote.Annotations {
				Expect(key).NotTo(ContainSubstring("kueue"))
			}
		}
		Expect(order).To(HaveExactElements("here", "here", "eu", "eu", "eu", "us", "us", "us"))
		page.run("kubectl get workloads")
		page.run("kubectl get pods")
		page.run("kubectl get clusterqueues")
	})

	It("preempts a job, whose remote pod goes within its grace period", func() {
		urgent := queuedJob("team-b", "urgent")
		urgent.Labels["kueue.x-k8s.io/priority-class"] = "urgent"
		before, remotes := map[string]*corev1.Pod{}, map[string]*corev1.Pod{}
		providers := map[string]*testCluster{virtualNode("eu"): eu, virtualNode("us"): us}
		for _, name := range []string{"job-4", "job-5", "job-6", "job-7"} {
			pod, err := podOfJob(queuedJob("team-b", name))()
			Expect(err).NotTo(HaveOccurred())
			before[name] = pod
			if provider := providers[pod.Spec.NodeName]; provider != nil {
				remotes[name], err = provider.pod(remoteOf(pod))()
				Expect(err).NotTo(HaveOccurred())
			}
		}
		consumer.create(urgent)
		Eventually(podOfJob(urgent)).Should(beReady(), "the urgent one runs")
		gone := 0
		for name, pod := range before {
			now, err := podOfJob(queuedJob("team-b", name))()
			Expect(err).NotTo(HaveOccurred())
			if now != nil && now.UID == pod.UID {
				continue
			}
			gone++
			if provider := providers[pod.Spec.NodeName]; provider != nil {
				Expect(remotes[name].Spec.TerminationGracePeriodSeconds).To(Equal(pod.Spec.TerminationGracePeriodSeconds))
				Eventually(provider.pod(remoteOf(pod))).Should(beGone())
			}
		}
		Expect(gone).To(Equal(1), "one job is preempted")
	})

	It("shows the logs of a job in a provider", func() {
		needReal()
		flavor, queue, local := kueueObject("ResourceFlavor", "", "dc", map[string]any{"nodeLabels": map[string]any{v1alpha1.LabelCluster: "dc"}}),
			kueueObject("ClusterQueue", "", "dc", map[string]any{"namespaceSelector": map[string]any{}, "resourceGroups": []any{map[string]any{
				"coveredResources": []any{"cpu"},
				"flavors":          []any{map[string]any{"name": "dc", "resources": []any{map[string]any{"name": "cpu", "nominalQuota": "1"}}}},
			}}}),
			kueueObject("LocalQueue", "team-a", "dc", map[string]any{"clusterQueue": "dc"})
		consumer.create(flavor, queue, local)
		job := queuedJob("team-a", "train")
		job.Labels = map[string]string{queueLabel: "dc"}
		job.Spec.Template.Spec.Containers[0].Command = []string{"/bin/sh", "-c", "echo hello"}
		job.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("10m")
		consumer.create(job)
		Eventually(read(consumer, job, &batchv1.Job{})).Should(haveCondition(string(batchv1.JobComplete), metav1.ConditionTrue))
		page.run("kubectl logs")
		consumer.mustKubectl("delete", "job", "-n", "team-a", "train") // That of the page has its name.
	})

	It("takes the Job of the page", func() { page.run("kubectl create") })

	It("is all that the page says", func() {
		needReal() // Otherwise nothing has logs.
		Expect(page.notRun()).To(BeEmpty(), "the page has commands that no spec runs")
	})
})

// providerLabel is on the nodes of a provider, with its name.
const providerLabel = "example.com/provider"

// queuedJob returns a Job of one CPU that runs until it is told to end, also on kwok's nodes.
func queuedJob(team, name string) *batchv1.Job {
	spec := podSpec(`trap "exit 0" TERM
sleep 2147483647 & wait`)
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, Labels: map[string]string{queueLabel: "jobs"}},
		Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](0), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"keeps-running": "yes"}}, Spec: spec,
		}},
	}
}

// flavorOf reads which flavor Kueue charges for a Job; empty while it waits.
func flavorOf(job *batchv1.Job) func() (string, error) {
	return func() (string, error) {
		var all unstructured.UnstructuredList
		all.SetAPIVersion("kueue.x-k8s.io/v1beta2")
		all.SetKind("WorkloadList")
		if err := consumer.List(ctx, &all, client.InNamespace(job.Namespace)); err != nil {
			return "", err
		}
		for i := range all.Items {
			if owner := metav1.GetControllerOf(&all.Items[i]); owner == nil || owner.Name != job.Name {
				continue
			}
			assignments, _, err := unstructured.NestedSlice(all.Items[i].Object, "status", "admission", "podSetAssignments")
			if err != nil || len(assignments) == 0 {
				return "", err
			}
			fields, _ := assignments[0].(map[string]any)
			flavor, _, err := unstructured.NestedString(fields, "flavors", "cpu")
			return flavor, err
		}
		return "", nil
	}
}

// podOfJob reads the only pod of a Job; nil if there is none.
func podOfJob(job *batchv1.Job) func() (*corev1.Pod, error) {
	return func() (*corev1.Pod, error) {
		var pods corev1.PodList
		err := consumer.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
		if err != nil || len(pods.Items) == 0 {
			return nil, err
		}
		return &pods.Items[0], nil
	}
}

// remoteOf returns the remote pod that a local one names.
func remoteOf(pod *corev1.Pod) client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Annotations[v1alpha1.AnnotationRemoteNamespace], Name: pod.Annotations[v1alpha1.AnnotationRemoteName]}}
}

func kueueObject(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// startKueue installs Kueue from the manifests of its module in the consumer, and runs it as an administrator until the
// specs of the container end. Its webhooks are reached through a Service that leads to this machine.
func startKueue() {
	GinkgoHelper()
	program := filepath.Join(root(), "bin", "kueue")
	Expect(program).To(BeAnExistingFile(), "run make kueue")
	left, err := clusters.Processes(program)
	Expect(err).NotTo(HaveOccurred())
	for _, pid := range left { // Of a killed run.
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Or(Succeed(), MatchError(syscall.ESRCH)))
	}
	probes, webhooks := freeAddress(), freeAddress()
	_, port, err := net.SplitHostPort(webhooks)
	Expect(err).NotTo(HaveOccurred())
	installKueue(port)

	folder := filepath.Join(directory(), "kueue")
	Expect(os.RemoveAll(folder)).To(Succeed())
	Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	config := filepath.Join(folder, "config.yaml")
	Expect(os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: %q}
metrics: {bindAddress: "0"}
webhook: {port: %s, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: true, webhookServiceName: kueue-webhook-service, webhookSecretName: kueue-webhook-server-cert}
integrations: {frameworks: [batch/job]}
`, kueueNamespace, probes, port, folder), 0o600)).To(Succeed())
	log, err := os.Create(filepath.Join(directory(), "logs", "kueue.log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	command := exec.Command(program, "--config", config, "--feature-gates=VisibilityOnDemand=false")
	command.Env = append(os.Environ(), "KUBECONFIG="+consumer.Kubeconfig())
	command.Stdout, command.Stderr = log, log
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(command.Process.Kill()).To(Succeed(), "Kueue has ended by itself: see %s", log.Name())
		_ = command.Wait() // It was killed.
	})
	mountSecret(kueueNamespace, "kueue-webhook-server-cert", folder)
	Eventually(func() error { return managerReady(probes) }).Should(Succeed(), "Kueue is ready: see %s", log.Name())
}

// mountSecret plays the kubelet that mounts a Secret, once it has content.
func mountSecret(namespace, name, folder string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Eventually(read(consumer, secret, &corev1.Secret{})).Should(HaveField("Data", HaveKey("tls.crt")), "Kueue creates its certificate")
	found, err := read(consumer, secret, &corev1.Secret{})()
	Expect(err).NotTo(HaveOccurred())
	for key, data := range found.Data {
		Expect(os.WriteFile(filepath.Join(folder, key), data, 0o600)).To(Succeed())
	}
}

// installKueue creates what Kueue needs besides its program. While its webhooks are there, no Job is created without it.
func installKueue(port string) {
	GinkgoHelper()
	module := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue")
	module.Dir, module.Env = filepath.Join(root(), "hack", "kueue"), append(os.Environ(), "GOWORK=off")
	dir, err := module.Output()
	Expect(err).NotTo(HaveOccurred())
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(kustomized(filepath.Join(strings.TrimSpace(string(dir)), "config", "default"))), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred())
		switch object.GetKind() {
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition":
			leadTo(object.Object, port)
		case "Namespace", "Secret":
		default:
			continue // It is for a Kueue that runs as a pod.
		}
		consumer.create(object)
		if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
			DeferCleanup(func() { Expect(consumer.Delete(ctx, object)).To(Succeed()) })
		}
	}
	consumer.mustKubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout="+patience.String())
}

// leadTo sets the port of each Service that the clientConfig of a webhook names.
func leadTo(of any, port string) {
	switch of := of.(type) {
	case []any:
		for _, item := range of {
			leadTo(item, port)
		}
	case map[string]any:
		if config, is := of["clientConfig"].(map[string]any); is {
			if service, is := config["service"].(map[string]any); is {
				var number int64
				_, _ = fmt.Sscan(port, &number)
				service["port"] = number
			}
		}
		for _, value := range of {
			leadTo(value, port)
		}
	}
}
