package integration

import (
	"context"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/manager"
)

// These take as long as tokens live: about 25 minutes.
var _ = Describe("The tokens of a pod, in real time", Ordered, long, func() {
	// life is the shortest life that an API server gives a token.
	const life = 10 * time.Minute
	const account = "controller"
	var (
		t    team
		g    *gate
		pods = map[string]*corev1.Pod{}
	)
	asAccount := func(pod *corev1.Pod) {
		pod.Spec.ServiceAccountName = account
		// Nothing but the end of its life shall end the token of a pod that is cut off.
		for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
		}
	}
	secretOf := func(pod *corev1.Pod) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: field.TokenSecretName(pod.UID)}}
	}

	BeforeAll(func() {
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID, Fleet: defaults, TokenLife: life})
		DeferCleanup(func() {
			running.stop()
			running = startManager(home, manager.Options{ConsumerID: homeID})
		})
		g = newGate(eu)
		t = newTeamWith(g.kubeconfig(eu), func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.ConsumerAPI = v1alpha1.ConsumerAPI{Host: "localhost", Port: 6443}
		})
		home.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: account}})
		change(home, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: v1alpha1.OffloadingName}}, func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.APIAccess = v1alpha1.APIAccess{ServiceAccounts: []v1alpha1.ServiceAccountName{account}}
		})
		home.make(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "spillway-pod-tokens"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-pod-tokens"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manager.DefaultNamespace, Name: "spillway-manager"}},
		})
		home.make(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "leases"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: account}},
		})
		for _, name := range []string{"leader", "cut off"} {
			pods[name] = t.run(asAccount)
			eu.remotePod(t.cb, pods[name])
		}
	})

	It("hold a Lease in the consumer over two renewals", func() {
		secret := secretOf(pods["leader"])
		Expect(eu.fetching(secret)()).To(Succeed())
		program := &program{secret: secret, used: map[string]bool{}}
		lost, ends := context.WithCancel(ctx)
		defer ends()
		elected, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "leader"}, Client: program.client().CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: pods["leader"].Name},
			},
			LeaseDuration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 10 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: ends},
		})
		Expect(err).NotTo(HaveOccurred())
		go elected.Run(lost)
		Eventually(elected.IsLeader).Should(BeTrue(), "it should get the Lease")
		Eventually(func(g Gomega) {
			g.Expect(program.tokens()).To(Equal(3))
			g.Expect(elected.Check(0)).To(Succeed())
		}).WithTimeout(2*life).WithPolling(10*time.Second).Should(Succeed(), "it should use its second renewed token")
		Expect(lost.Err()).NotTo(HaveOccurred(), "it should never have lost the Lease")

		token := program.last()
		Expect(home.Delete(ctx, pods["leader"], atOnce)).To(Succeed())
		Eventually(review(token)).Should(HaveField("Authenticated", false), "the token of a pod that is gone is void")
	})

	It("end with their life in a provider that is cut off", func() {
		g.shut()
		Eventually(home.condition(t.cb, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonUnreachable))
		secret := secretOf(pods["cut off"])
		Expect(eu.fetching(secret)()).To(Succeed())
		token := secret.Data["token"]
		credentials.note(string(token))
		expires, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationTokenExpires])
		Expect(err).NotTo(HaveOccurred())
		Expect(review(token)()).To(HaveField("Authenticated", true))
		Eventually(review(token)).WithTimeout(life+time.Minute).WithPolling(5*time.Second).Should(
			And(HaveField("Authenticated", false), HaveField("Error", ContainSubstring("expired"))), "the token should end")
		Expect(time.Now()).To(BeTemporally(">=", expires), "nothing else has ended it")
		Expect(eu.fetching(secret)()).To(Succeed())
		Expect(string(secret.Data["token"])).To(Equal(string(token)), "nobody can renew it")
	})
})

// program uses the consumer's API as a program in a pod does: with the token that is in the Secret at the time.
type program struct {
	secret *corev1.Secret

	mu    sync.Mutex
	used  map[string]bool
	token []byte
}

func (p *program) client() kubernetes.Interface {
	GinkgoHelper()
	config := &rest.Config{Host: home.Config().Host, TLSClientConfig: rest.TLSClientConfig{CAData: p.secret.Data["ca.crt"]}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			held := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.secret.Namespace, Name: p.secret.Name}}
			if err := eu.fetching(held)(); err != nil { //nolint:contextcheck // It has the context of the spec.
				return nil, err
			}
			p.mu.Lock()
			p.token = held.Data["token"]
			p.used[string(p.token)] = true
			p.mu.Unlock()
			credentials.note(string(held.Data["token"]))
			req = req.Clone(req.Context())
			req.Header.Set("Authorization", "Bearer "+string(held.Data["token"]))
			return next.RoundTrip(req)
		})
	})
	client, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return client
}

// tokens returns how many different tokens the program has used.
func (p *program) tokens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.used)
}

// last returns the token that the program has used last.
func (p *program) last() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.token
}
