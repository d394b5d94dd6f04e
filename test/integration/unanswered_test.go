package integration

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field/provenance"
)

// lost counts the creations of pods that a provider carried out while the manager got no answer. The watches
// of pods are silent meanwhile.
type lost struct {
	answers atomic.Int32
	losing  atomic.Bool
	silence sync.RWMutex
}

// lose starts losing answers; restore ends it.
func (l *lost) lose() (restore func()) {
	l.silence.Lock()
	l.losing.Store(true)
	return sync.OnceFunc(func() {
		l.losing.Store(false)
		l.silence.Unlock()
	})
}

// see gets each answer from an address.
func (l *lost) see(response *http.Response) error {
	request := response.Request
	switch {
	case !strings.HasSuffix(request.URL.Path, "/pods"):
	case request.Method == http.MethodPost && l.losing.Load():
		l.answers.Add(1)
		_ = response.Body.Close()
		panic(http.ErrAbortHandler) // This makes a handler break off its answer.
	case request.URL.Query().Has("watch"):
		response.Body = silenced{response.Body, &l.silence}
	}
	return nil
}

// silenced is the body of a watch. It delivers nothing while another holds the lock.
type silenced struct {
	io.ReadCloser
	by *sync.RWMutex
}

func (s silenced) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.by.RLock()
	defer s.by.RUnlock()
	return n, err
}

var _ = Describe("A pod of a StatefulSet whose creation is not answered", slow, func() {
	It("has no successor before the provider was asked for it, and it has gone there", func() {
		var answers lost
		there := newAddress()
		there.answers = answers.see
		there.lead(eu)
		t := newTeamWith(there.kubeconfig())
		restore := answers.lose()
		DeferCleanup(restore)
		set := newStatefulSet(t.namespace, t.cb.VirtualNodeName())
		home.create(set)
		local := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: set.Name + "-0"}}
		Eventually(home.fetching(local)).Should(Succeed(), "the StatefulSet should make its pod")
		remote := eu.remotePod(t.cb, local)
		eu.schedule(remote) // From now on only its kubelet can end it.
		Eventually(answers.answers.Load).Should(BeNumerically(">", 0), "the manager should get no answer")
		Expect(provenance.RemoteOf(local).UID).To(BeEmpty(), "it knows of no remote pod")

		life := home.record(&corev1.PodList{}, local, func(object client.Object) string { return string(object.GetUID()) })
		Expect(home.Delete(ctx, local)).To(Succeed())
		Eventually(now(eu, remote)).Should(going, "the provider should be asked, and the remote pod deleted")
		restore()
		Consistently(life.ended).ShouldNot(BeClosed(), "its name is not free while the remote pod is there")
		eu.end(remote)
		Expect(life.all()).To(HaveExactElements(string(local.UID)), "there was one pod of the name until then")

		successor := local.DeepCopy()
		Eventually(func() (types.UID, error) { return successor.UID, client.IgnoreNotFound(home.fetching(successor)()) }).ShouldNot(Equal(local.UID))
		eu.remotePod(t.cb, successor)
		home.drop(set)
		// The address ends with the spec, and the binding is deleted later.
		home.putKubeconfig(t.cb.Name, eu.providerKubeconfig())
		home.bindingIsReady(t.cb)
	})
})

// newStatefulSet has one pod, on that node.
func newStatefulSet(namespace, node string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}},
			},
		},
	}
}
