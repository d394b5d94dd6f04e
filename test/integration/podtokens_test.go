package integration

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/manager"
)

var _ = Describe("A pod that uses the consumer's API", Ordered, func() {
	var (
		t      team
		pod    *corev1.Pod
		secret *corev1.Secret
	)
	const account = "controller"
	asAccount := func(pod *corev1.Pod) { pod.Spec.ServiceAccountName = account }
	// tokens returns the Secret with the pod's tokens in the provider.
	tokens := func() (*corev1.Secret, error) {
		held := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: field.TokenSecretName(pod.UID)}}
		err := eu.fetching(held)()
		if token := string(held.Data["token"]); token != "" {
			credentials.note(token)
		}
		return held, err
	}
	// review returns what the consumer knows about a token.
	review := func(token []byte) func() (authenticationv1.TokenReviewStatus, error) {
		return func() (authenticationv1.TokenReviewStatus, error) {
			asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: string(token)}}
			err := home.Create(ctx, asked)
			return asked.Status, err
		}
	}

	BeforeAll(func() {
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID, Tokens: true})
		DeferCleanup(func() {
			running.stop()
			running = startManager(home, manager.Options{ConsumerID: homeID})
		})
		t = newTeamWith(eu.providerKubeconfig(), func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.ConsumerAPI = v1alpha1.ConsumerAPI{Host: "localhost", Port: 6443}
		})
		home.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: account}})
		change(home, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: v1alpha1.OffloadingName}}, func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.APIAccess = v1alpha1.APIAccess{ServiceAccounts: []v1alpha1.ServiceAccountName{account}}
		})
	})

	It("waits until the manager may create its token, and then has one", func() {
		Eventually(home.condition(t.cb, v1alpha1.BindingConsumerAPI)).Should(is(metav1.ConditionUnknown, v1alpha1.ReasonUnverified, "TLS handshake"))
		pod = t.run(asAccount)
		t.staysHome(pod, v1alpha1.ReasonTokenForbidden, "bind the ClusterRole spillway-pod-tokens in namespace "+t.namespace)
		home.make(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "spillway-pod-tokens"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-pod-tokens"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manager.DefaultNamespace, Name: "spillway-manager"}},
		})
		remote := t.goesOn(pod)
		var err error
		secret, err = tokens()
		Expect(err).NotTo(HaveOccurred())
		Expect(secret.Data).To(And(HaveKeyWithValue("namespace", []byte(t.namespace)), HaveKeyWithValue("ca.crt", home.Config().CAData)))
		status, err := review(secret.Data["token"])()
		Expect(err).NotTo(HaveOccurred())
		Expect(status.User.Username).To(Equal("system:serviceaccount:" + t.namespace + ":" + account))
		Expect(status.User.Extra).To(HaveKeyWithValue("authentication.kubernetes.io/pod-uid", authenticationv1.ExtraValue{string(pod.UID)}))
		Expect(remote.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "localhost"}))
		Expect(remote.Spec.Containers[0].VolumeMounts).To(ContainElement(HaveField("MountPath", "/var/run/secrets/kubernetes.io/serviceaccount")))
	})

	It("lends its token to no other pod", func() {
		thief := t.run(func(other *corev1.Pod) {
			other.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}, Optional: ptr.To(true),
			}}}
		})
		t.staysHome(thief, field.ReasonCredentials, "Secret "+secret.Name+" cannot be used")
	})

	It("gets new tokens before they expire", func() {
		before := secret.Data["token"]
		change(eu, secret, func(s *corev1.Secret) {
			s.Annotations[v1alpha1.AnnotationTokenRenews] = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
		})
		Eventually(func(g Gomega) {
			var err error
			secret, err = tokens()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Equal(secret.Data["token"], before)).To(BeFalse(), "the token should be another one") // Equal would print both.
		}).Should(Succeed())
		renews, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationTokenRenews])
		Expect(err).NotTo(HaveOccurred())
		Expect(renews).To(BeTemporally(">", time.Now()))
	})

	It("costs a new manager no request", func() {
		var requested atomic.Int32
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID, Tokens: true, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/serviceaccounts/"+account+"/token") {
					requested.Add(1)
				}
				return next.RoundTrip(req)
			})
		}})
		eu.remotePod(t.cb, t.run(asAccount)) // The new manager has begun with the first pod before.
		Expect(requested.Load()).To(BeEquivalentTo(1), "only the second pod needs a token")
		now, err := tokens()
		Expect(err).NotTo(HaveOccurred())
		Expect(now.ResourceVersion).To(Equal(secret.ResourceVersion))
	})

	It("takes its token with it", func() {
		noCredentialIsShown(credentials.all()...)
		Expect(home.Delete(ctx, pod, atOnce)).To(Succeed())
		Eventually(func(g Gomega) {
			held := &corev1.Secret{ObjectMeta: secret.ObjectMeta}
			g.Expect(eu.fetching(held)()).To(MatchError(ContainSubstring("not found")))
		}).Should(Succeed(), "its Secret in the provider should go")
		Eventually(review(secret.Data["token"])).Should(HaveField("Authenticated", false), "the token of a pod that is gone is void")
	})
})
