package integration

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kubelet"
)

var _ = Describe("Which pod the kubelet API of a virtual node reaches", Ordered, func() {
	var (
		t      team
		served kubelets
		// like is the remote pod of a running pod.
		local, like *corev1.Pod
	)

	BeforeAll(func() {
		served = serveKubelet(kubelet.Options{})
		t = newTeam()
		local, like = served.runs(t)
	})

	// forged creates a running pod in eu with these labels and annotations.
	forged := func(namespace, name string, labels, annotations map[string]string) *corev1.Pod {
		GinkgoHelper()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations, Finalizers: []string{holdFinalizer}},
			Spec: corev1.PodSpec{NodeName: served.node, TerminationGracePeriodSeconds: ptr.To[int64](0),
				Containers: []corev1.Container{{Name: "forged", Image: "example.com/app:1"}}},
		}
		eu.make(pod)
		DeferCleanup(func() { eu.letGo(pod) })
		eu.setPodStatus(pod, corev1.PodRunning)
		return pod
	}
	marks := func(local metav1.ObjectMeta) map[string]string {
		return map[string]string{v1alpha1.AnnotationLocalNamespace: local.Namespace, v1alpha1.AnnotationLocalName: local.Name, v1alpha1.AnnotationLocalUID: string(local.UID)}
	}
	logsOf := func(pod *corev1.Pod) func() (string, error) {
		return func() (string, error) { return home.kubectl("", "logs", "-n", pod.Namespace, pod.Name) }
	}
	isNotThere := func(pod *corev1.Pod) {
		GinkgoHelper()
		Eventually(func() error {
			_, err := logsOf(pod)()
			return err
		}).Should(MatchError(ContainSubstring("pod %s/%s is not in provider %s", pod.Namespace, pod.Name, t.cb.Spec.ClusterID)))
	}

	It("is none that stands for another pod of the name", func() {
		name := unique("pod")
		stale := forged(t.remote, name, like.Labels, marks(metav1.ObjectMeta{Namespace: t.namespace, Name: name, UID: "another"}))
		isNotThere(t.run(podNamed(name)))
		Expect(eu.fetching(stale)()).To(Succeed())
	})

	It("is none that has not our mark", func() {
		name := unique("pod")
		foreign := forged(t.remote, name, nil, nil)
		pod := t.run(podNamed(name))
		t.staysHome(pod, v1alpha1.ReasonNameConflict)
		change(eu, foreign, func(foreign *corev1.Pod) { foreign.Annotations = marks(pod.ObjectMeta) })
		isNotThere(pod)
	})

	It("is none in a foreign namespace, whatever its marks", func() {
		foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique("foreign")}}
		eu.create(foreign)
		eu.takesPods(foreign.Name)
		forged(foreign.Name, like.Name, like.Labels, like.Annotations)
		// The forged pod has no such container.
		Consistently(logsOf(local)).Should(Equal("first line of app\n"))
	})

	It("is asked for what was asked, and for nothing else that a header says, and no redirect is followed", func() {
		var (
			seen      sync.Map
			redirects atomic.Bool
			followed  atomic.Int32
		)
		elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
		DeferCleanup(elsewhere.Close)
		there := newAddress()
		asked := func(r *http.Request) string {
			for _, subresource := range []string{"log", "exec"} {
				if strings.HasSuffix(r.URL.Path, "/"+subresource) {
					return subresource
				}
			}
			return ""
		}
		there.sees = func(r *http.Request) {
			if what := asked(r); what != "" {
				seen.Store(what, r.Header.Clone())
			}
		}
		there.answers = func(answer *http.Response) error {
			if asked(answer.Request) != "" && redirects.Load() {
				answer.StatusCode = http.StatusFound
				answer.Header.Set("Location", elsewhere.URL)
			}
			return nil
		}
		there.lead(eu)
		through := newTeamWith(there.kubeconfig())
		DeferCleanup(func() { home.putKubeconfig(through.cb.Name, eu.providerKubeconfig()) }) // The address ends with the spec.
		pod, _ := served.runs(through)

		admin := home.Config().TLSClientConfig
		smuggled := func() http.Header {
			return http.Header{
				"Authorization": {"Bearer of-the-consumer"}, "Cookie": {"a=b"}, "Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters"},
				"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}, "X-Forwarded-For": {"127.0.0.1"}, "Forwarded": {"for=127.0.0.1"}, "Range": {"bytes=0-1"},
			}
		}
		logs, command := "/containerLogs/"+pod.Namespace+"/"+pod.Name+"/app", "/exec/"+pod.Namespace+"/"+pod.Name+"/app?command=echo&output=1"
		Expect(ask(served.Port, logs, smuggled(), &admin)).To(Equal(http.StatusOK))
		upgrade := smuggled()
		for key, value := range map[string]string{
			"Connection": "Upgrade, X-Remote-User", "Upgrade": "websocket", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Version": "13",
			"Sec-Websocket-Protocol": "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.dG9rZW4", "Sec-Websocket-Extensions": "permessage-deflate",
		} {
			upgrade.Set(key, value)
		}
		Expect(ask(served.Port, command, upgrade, &admin)).To(Equal(http.StatusSwitchingProtocols))
		for subresource, want := range map[string]map[string]string{
			"log": {}, "exec": {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Version": "13", "Sec-Websocket-Protocol": "v5.channel.k8s.io"},
		} {
			header, ok := seen.Load(subresource)
			Expect(ok).To(BeTrue(), subresource)
			got := map[string]string{}
			for key, values := range header.(http.Header) { //nolint:forcetypeassert // Nothing else is stored.
				got[key] = strings.Join(values, "; ")
			}
			Expect(got).To(HaveKeyWithValue("Authorization", Not(ContainSubstring("of-the-consumer"))))
			delete(got, "Authorization")
			delete(got, "User-Agent")
			delete(got, "Connection") // For a log it is "close": each stream has its own connection.
			delete(want, "Connection")
			Expect(got).To(Equal(want), subresource)
		}

		redirects.Store(true)
		_, err := logsOf(pod)()
		Expect(err).To(MatchError(ContainSubstring("redirects are not followed")))
		_, err = home.kubectl("", "exec", "-n", pod.Namespace, pod.Name, "--", "echo")
		Expect(err).To(HaveOccurred())
		Expect(followed.Load()).To(BeZero(), "somebody followed a redirect")
	})
})
