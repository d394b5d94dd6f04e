package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

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
	var requested atomic.Int32
	// manage starts a manager that counts its requests for tokens.
	manage := func() {
		running = startManager(home, manager.Options{ConsumerID: homeID, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/serviceaccounts/"+account+"/token") {
					requested.Add(1)
				}
				return next.RoundTrip(req)
			})
		}})
	}
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
	// anew waits until there is a new Secret with new tokens.
	anew := func() {
		GinkgoHelper()
		before := secret
		Eventually(func(g Gomega) {
			var err error
			secret, err = tokens()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(secret.UID).NotTo(Equal(before.UID))
			g.Expect(bytes.Equal(secret.Data["token"], before.Data["token"])).To(BeFalse(), "the token should be another one") // Equal would print both.
		}).Should(Succeed())
	}

	BeforeAll(func() {
		running.stop()
		manage()
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

	It("lets a provider cause few requests for tokens", func() {
		requested.Store(0)
		for _, renews := range []string{"", "soon", time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)} {
			change(eu, secret, func(s *corev1.Secret) {
				s.Annotations[v1alpha1.AnnotationTokenRenews], s.Annotations[v1alpha1.AnnotationTokenExpires] = renews, renews
			})
			t.passes()
		}
		Expect(requested.Load()).To(BeZero(), "the manager knows when to renew the tokens")
		for range 3 {
			Expect(eu.Delete(ctx, secret)).To(Succeed())
			anew()
		}
		Expect(requested.Load()).To(BeEquivalentTo(3))
		Expect(eu.Delete(ctx, secret)).To(Succeed())
		t.passes()
		Expect(requested.Load()).To(BeEquivalentTo(3), "the next one should wait")
	})

	It("sends no token where a pod of the provider says that it runs", func() {
		elsewhere := eu.newNamespace()
		eu.takesPods(elsewhere)
		waits := t.run(asAccount, withConfigMap("missing", false))
		t.staysHome(waits, v1alpha1.ReasonReferenceNotFound)
		requested.Store(0)
		forged := eu.remotePod(t.cb, pod)
		name := field.TokenSecretName(waits.UID)
		forged = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: waits.Name, Labels: forged.Labels, Annotations: forged.Annotations}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "thief", Image: "thief"}},
			Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
			}}}},
		}}
		forged.Annotations[v1alpha1.AnnotationLocalUID], forged.Annotations[v1alpha1.AnnotationLocalName] = string(waits.UID), waits.Name
		eu.make(forged)
		bait := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: name, Labels: forged.Labels, Annotations: forged.Annotations}}
		eu.make(bait) // It makes the manager decide about the pod.
		t.passes()
		Expect(eu.Delete(ctx, bait)).To(Succeed())
		t.passes()
		Expect(requested.Load()).To(BeZero())
		Expect(eu.fetching(bait)()).To(MatchError(ContainSubstring("not found")))
	})

	It("gets its Secret again if that was deleted while no manager ran, and new tokens before they expire", func() {
		running.stop()
		Expect(client.IgnoreNotFound(eu.Delete(ctx, secret))).To(Succeed())
		manage()
		anew()
		running.stop()
		before := secret.Data["token"]
		change(eu, secret, func(s *corev1.Secret) {
			s.Annotations[v1alpha1.AnnotationTokenRenews] = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
		})
		manage()
		Eventually(func(g Gomega) {
			var err error
			secret, err = tokens()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Equal(secret.Data["token"], before)).To(BeFalse(), "the token should be another one")
		}).Should(Succeed())
		renews, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationTokenRenews])
		Expect(err).NotTo(HaveOccurred())
		Expect(renews).To(BeTemporally("~", time.Now().Add(45*time.Minute), 4*time.Minute), "at 70 to 80 % of their life")
	})

	It("gets its Secret again when a pause ends, and its owner learns that it has none until then", func() {
		running.stop()
		pauses := func(paused bool) { change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = paused }) }
		pauses(true)
		DeferCleanup(pauses, false)
		Expect(eu.Delete(ctx, secret)).To(Succeed())
		manage()
		Eventually(home.eventsAbout(pod)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonTokenNotRenewed), noting("the ClusterBinding is paused"))))
		_, err := tokens()
		Expect(err).To(MatchError(ContainSubstring("not found")))
		pauses(false)
		anew()
	})

	It("costs a new manager no request", func() {
		running.stop()
		requested.Store(0)
		manage()
		eu.remotePod(t.cb, t.run(asAccount)) // The new manager has begun with the first pod before.
		Expect(requested.Load()).To(BeEquivalentTo(1), "only the second pod needs a token")
		now, err := tokens()
		Expect(err).NotTo(HaveOccurred())
		Expect(now.ResourceVersion).To(Equal(secret.ResourceVersion))
	})

	It("takes its token with it", func() {
		noCredentialIsShown(credentials.all()...)
		isInNoOtherNamespace(t.remote, string(secret.Data["token"]))
		Expect(home.Delete(ctx, pod, atOnce)).To(Succeed())
		Eventually(func(g Gomega) {
			held := &corev1.Secret{ObjectMeta: secret.ObjectMeta}
			g.Expect(eu.fetching(held)()).To(MatchError(ContainSubstring("not found")))
		}).Should(Succeed(), "its Secret in the provider should go")
		Eventually(review(secret.Data["token"])).Should(HaveField("Authenticated", false), "the token of a pod that is gone is void")
	})
})

// review returns what the consumer knows about a token.
func review(token []byte) func() (authenticationv1.TokenReviewStatus, error) {
	return func() (authenticationv1.TokenReviewStatus, error) {
		asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: string(token)}}
		err := home.Create(ctx, asked)
		return asked.Status, err
	}
}

// isInNoOtherNamespace asserts that a token is in no metric, and in no object of the clusters but the Secrets of one
// namespace of the provider.
func isInNoOtherNamespace(namespace, token string) {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	places := map[string]any{"a metric": families}
	for _, cluster := range []*controlPlane{home, eu} {
		for _, list := range []client.ObjectList{
			&corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.PodList{}, &corev1.NamespaceList{}, &corev1.NodeList{}, &eventsv1.EventList{}, &coordinationv1.LeaseList{},
		} {
			Expect(cluster.List(ctx, list)).To(Succeed())
			Expect(meta.EachListItem(list, func(item runtime.Object) error {
				object := item.(client.Object)
				if _, isSecret := item.(*corev1.Secret); !isSecret || cluster != eu || object.GetNamespace() != namespace {
					places[fmt.Sprintf("%T %s/%s of %s", item, object.GetNamespace(), object.GetName(), cluster.Name)] = item
				}
				return nil
			})).To(Succeed())
		}
	}
	for place, content := range places {
		text, err := json.Marshal(content)
		Expect(err).NotTo(HaveOccurred())
		for _, form := range []string{token, base64.StdEncoding.EncodeToString([]byte(token)), token[strings.LastIndex(token, ".")+1:]} {
			Expect(strings.Contains(string(text), form)).To(BeFalse(), "a token in %s", place) // A matcher would print it.
		}
	}
}
