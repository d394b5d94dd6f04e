package integration

import (
	"encoding/base64"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
)

// canary takes the place of credentials in kubeconfigs.
const canary = "canary-4e1f7c0d"

var _ = Describe("A Secret that cannot be used", func() {
	var spec string

	BeforeEach(func() { spec = unique("spec") })

	// refused asserts what a user sees of a Secret that the manager does not even try, and that a good one
	// repairs it.
	refused := func(cb *v1alpha1.ClusterBinding, reason string, texts ...string) {
		GinkgoHelper()
		Eventually(home.condition(cb, v1alpha1.BindingCredentialsValid)).Should(isFalse(reason, texts...), "the Secret should be refused")
		Expect(home.condition(cb, v1alpha1.BindingConnected)()).To(isFalse(v1alpha1.ReasonCredentialsInvalid, v1alpha1.BindingCredentialsValid))
		Expect(home.condition(cb, v1alpha1.BindingReady)()).To(isFalse(reason, texts...))
	}

	It("is missing, until it is made", func() {
		cb := newBinding(unique("missing"), withLabels(labelSpec, spec))
		home.create(cb)
		refused(cb, v1alpha1.ReasonSecretNotFound, "no Secret "+cb.Name, "namespace "+manager.DefaultNamespace)
		home.putKubeconfig(cb.Name, eu.providerKubeconfig())
		home.bindingIsReady(cb)
	})

	It("lacks the key, until it has it", func() {
		cb := newBinding(unique("keyless"), withLabels(labelSpec, spec), func(cb *v1alpha1.ClusterBinding) { cb.Spec.KubeconfigSecretRef.Key = "eu.yaml" })
		kubeconfig := eu.providerKubeconfig()
		home.putKubeconfig(cb.Name, kubeconfig)
		home.create(cb)
		refused(cb, v1alpha1.ReasonKeyNotFound, cb.Name, "no key eu.yaml")
		home.putSecret(cb.Name, map[string][]byte{"eu.yaml": kubeconfig})
		home.bindingIsReady(cb)
	})

	DescribeTable("is refused with the field named", func(reason, field string, kubeconfig func() []byte) {
		cb := home.bindWith(kubeconfig(), "refused", spec)
		refused(cb, reason, "Secret "+manager.DefaultNamespace+"/"+cb.Name, field)
		noCredentialIsShown(canary)
	},
		Entry("not YAML", v1alpha1.ReasonInvalidKubeconfig, "YAML", func() []byte { return []byte("\t" + canary + ": [") }),
		Entry("exec", v1alpha1.ReasonForbiddenField, "users[0].user.exec", user(func(user *clientcmdapi.AuthInfo) {
			user.Exec = &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", canary},
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}
		})),
		Entry("a password in the URL", v1alpha1.ReasonForbiddenField, "clusters[0].cluster.server", server(func(cluster *clientcmdapi.Cluster) {
			cluster.Server = "https://admin:" + canary + "@127.0.0.1:1"
		})),
	)
})

// user returns a kubeconfig for eu with a changed user, whose token is the canary.
func user(change func(*clientcmdapi.AuthInfo)) func() []byte {
	return func() []byte {
		return edited(eu.providerKubeconfig(), func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.Token = canary
			change(user)
		})
	}
}

// server returns a kubeconfig for eu with a changed cluster, and the canary as token.
func server(change func(*clientcmdapi.Cluster)) func() []byte {
	return func() []byte {
		return edited(eu.providerKubeconfig(), func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.Token = canary
			change(cluster)
		})
	}
}

var _ = Describe("Credentials that a provider does not accept", func() {
	var spec string

	BeforeEach(func() { spec = unique("spec") })

	It("are a token that it does not know, until it is replaced", func() {
		cb := home.bindWith(user(func(*clientcmdapi.AuthInfo) {})(), "unauthorized", spec)
		Eventually(home.condition(cb, v1alpha1.BindingCredentialsValid)).Should(
			isFalse(v1alpha1.ReasonUnauthorized, "does not accept the credentials", "401"), "the token means nothing to the provider")
		Expect(home.condition(cb, v1alpha1.BindingConnected)()).To(isFalse(v1alpha1.ReasonCredentialsInvalid))
		Expect(home.condition(cb, v1alpha1.BindingReady)()).To(isFalse(v1alpha1.ReasonUnauthorized, "401"))
		home.putKubeconfig(cb.Name, eu.providerKubeconfig())
		home.bindingIsReady(cb)
		noCredentialIsShown(canary)
	})

	It("are a token that has expired, and the message says when", func() {
		expiry := time.Now().Add(-time.Hour)
		cb := home.bindWith(user(func(user *clientcmdapi.AuthInfo) { user.Token = expiredToken(expiry) })(), "expired", spec)
		Eventually(home.condition(cb, v1alpha1.BindingCredentialsValid)).Should(
			isFalse(v1alpha1.ReasonUnauthorized, "the token expired at "+expiry.UTC().Format(time.RFC3339)), "the token has expired")
	})

	It("lack the right to list and watch pods", func() {
		cb := home.bindWith(eu.lacking("pods", "list", "watch"), "podless", spec)
		Eventually(home.condition(cb, v1alpha1.BindingCredentialsValid)).Should(
			isFalse(v1alpha1.ReasonForbidden, "they lack a right", `cannot list resource "pods"`), "the role lacks pods")
		Expect(home.condition(cb, v1alpha1.BindingConnected)()).To(isFalse(v1alpha1.ReasonCredentialsInvalid))
	})

	It("lack every right", func() {
		cb := home.bindWith(eu.limited(), "rightless", spec)
		Eventually(home.condition(cb, v1alpha1.BindingCredentialsValid)).Should(
			isFalse(v1alpha1.ReasonForbidden, `cannot get resource "namespaces"`), "the role lacks namespaces")
	})

	It("lack the right to create namespaces, which shows at the namespaces", func() {
		cb := home.bindWith(eu.lacking("namespaces", "create"), "readonly", spec)
		home.bindingIsReady(cb)
		team := home.offloadNew(selecting(labelSpec, spec))
		Eventually(home.entry(cb, team)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonCreationFailed, "cannot create resource"))
		Eventually(home.offloading(team)).Should(inPhase(v1alpha1.OffloadingPhaseAllFailed, cb.Spec.ClusterID, "cannot create resource"))
	})
})

// expiredToken returns a token in the form of a ServiceAccount's token.
func expiredToken(expiry time.Time) string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return encode(`{"alg":"RS256"}`) + "." + encode(fmt.Sprintf(`{"exp":%d}`, expiry.Unix())) + "." + encode(canary)
}

var _ = Describe("A kubeconfig that leads elsewhere", func() {
	var spec string

	BeforeEach(func() { spec = unique("spec") })

	It("has the CA of another cluster", func() {
		kubeconfig := edited(eu.providerKubeconfig(), func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			cluster.CertificateAuthorityData = us.Config().CAData
		})
		cb := home.bindWith(kubeconfig, "wrong-ca", spec)
		Eventually(home.condition(cb, v1alpha1.BindingConnected)).Should(
			isFalse(v1alpha1.ReasonWrongCA, "not signed by the certificate authority of the kubeconfig"), "the CA is that of another cluster")
		Expect(home.condition(cb, v1alpha1.BindingCredentialsValid)()).To(is(metav1.ConditionUnknown, v1alpha1.ReasonConnecting))
		home.putKubeconfig(cb.Name, eu.providerKubeconfig())
		home.bindingIsReady(cb)
	})

	It("leads to the consumer itself", func() {
		cb := home.bindWith(home.kubeconfig(manager.DefaultNamespace, "spillway-manager"), "self", spec)
		Eventually(home.condition(cb, v1alpha1.BindingConnected)).Should(
			isFalse(v1alpha1.ReasonSameCluster, "the consumer itself"), "the kubeconfig is one of the consumer")
		Expect(home.condition(cb, v1alpha1.BindingReady)()).To(isFalse(v1alpha1.ReasonSameCluster))
	})

	It("leads to nobody", func() {
		cb := home.bindWith(server(func(cluster *clientcmdapi.Cluster) { cluster.Server = "https://127.0.0.1:1" })(), "nobody", spec)
		Eventually(home.condition(cb, v1alpha1.BindingConnected)).Should(
			isFalse(v1alpha1.ReasonUnreachable, "connection refused by https://127.0.0.1:1"), "nothing listens there")
	})

	It("suddenly leads to another cluster, in which nothing is written", slow, func() {
		cb := home.bind(eu, spec)
		team := home.offloadNew(selecting(labelSpec, spec))
		home.offloadingIsReady(team)

		home.putKubeconfig(cb.Name, us.providerKubeconfig())
		Eventually(home.condition(cb, v1alpha1.BindingConnected)).Should(
			isFalse(v1alpha1.ReasonIdentityChanged, us.uid, eu.uid, "restore the Secret"), "the Secret leads to another cluster")
		late := home.offloadNew(selecting(labelSpec, spec))
		Eventually(home.entry(cb, team)).Should(mapped(v1alpha1.MappingAccepted, v1alpha1.ReasonProviderUnreachable, v1alpha1.ReasonIdentityChanged))
		Consistently(us.ofBinding(cb)).Should(BeEmpty(), "nothing may be written in a cluster that was not bound")
		Expect(home.binding(cb.Name)).To(HaveField("Status.RemoteClusterUID", eu.uid))

		home.putKubeconfig(cb.Name, eu.providerKubeconfig())
		home.bindingIsReady(cb)
		home.offloadingIsReady(team, late)
		Expect(us.ofBinding(cb)()).To(BeEmpty())
	})
})
