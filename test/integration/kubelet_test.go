package integration

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/player"
)

// kubectl runs kubectl with the kubeconfig of the cluster's administrator.
func (c *controlPlane) kubectl(stdin string, args ...string) (said string, err error) {
	GinkgoHelper()
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	command := c.kubectlCommand(bounded, args...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return string(out), err
}

func (c *controlPlane) kubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	GinkgoHelper()
	root, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", "kube", "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	command.WaitDelay = time.Second
	return command
}

// kubelets are the kubelet API of virtual nodes, and a fake kubelet in eu behind it.
type kubelets struct {
	kubelet.Options
	node string
}

// serveKubelet makes the manager of home serve the kubelet API with these options, at an address that the API
// server reaches. It ends with the specs that share it.
func serveKubelet(o kubelet.Options) kubelets {
	GinkgoHelper()
	o.Address, o.Port = "127.0.0.1", freePort()
	running.stop()
	running = startManager(home, manager.Options{ConsumerID: homeID, Kubelet: o})
	DeferCleanup(func() {
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID})
	})
	return kubelets{o, eu.newKubelet()}
}

// runs creates a pod that runs on the node of the fake kubelet.
func (k kubelets) runs(of team, options ...podOption) (local, remote *corev1.Pod) {
	GinkgoHelper()
	local = of.run(options...)
	remote = eu.remotePod(of.cb, local)
	eu.scheduleTo(remote, k.node)
	eu.setPodStatus(remote, corev1.PodRunning)
	Eventually(home.podPhase(local)).Should(Equal(corev1.PodRunning))
	return local, remote
}

var _ = Describe("The kubelet API of a virtual node", Ordered, func() {
	var (
		t      team
		served kubelets
		local  *corev1.Pod
	)

	BeforeAll(func() {
		served = serveKubelet(kubelet.Options{})
		t = newTeam()
		local, _ = served.runs(t)
	})

	It("gives logs, all at once and as they come, until the pod is gone", func() {
		Expect(home.kubectl("", "logs", "-n", local.Namespace, local.Name)).To(Equal("first line of app\n"))
		short, there := served.runs(t)
		following, err := gexec.Start(home.kubectlCommand(ctx, "logs", "-f", "-n", short.Namespace, short.Name), GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		Eventually(following.Out).Should(gbytes.Say("first line of app\n"))
		Expect(eu.Delete(ctx, there, atOnce)).To(Succeed())
		Eventually(following).Should(gexec.Exit(), "the stream should end with the pod")
	})

	It("gives the logs of a pod that has overflowed into a later tier", func() {
		namespace := home.offloadNew(nil, func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, builder.Tier(selecting(labelSpec, t.spec).NodeSelectorTerms[0].MatchExpressions)}
		})
		t.sweepAfterwards(namespace)
		home.offloadingIsReady(namespace)
		home.takesPods(namespace)
		pod := home.runPod(t.cb, namespace, func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.SchedulerName, pod.Spec.Tolerations = "", "none", nil
		})
		Expect(pod).NotTo(toleratesVirtualNodes)
		home.findsNoNode(pod, "0/2 nodes are available: 1 Insufficient cpu.")
		Eventually(now(home, pod)).Should(And(toleratesVirtualNodes, HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationOverflow, HavePrefix("1=")))))
		home.scheduleTo(pod, t.cb.VirtualNodeName())
		remote := eu.remotePod(t.cb, pod)
		eu.scheduleTo(remote, served.node)
		eu.setPodStatus(remote, corev1.PodRunning)
		Eventually(home.podPhase(pod)).Should(Equal(corev1.PodRunning))
		Expect(home.kubectl("", "logs", "-n", namespace, pod.Name)).To(Equal("first line of app\n"))
	})

	It("runs commands, with their input and their exit codes, over WebSockets and SPDY, and attaches", func() {
		for _, ws := range []string{"true", "false"} {
			GinkgoT().Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", ws)
			Expect(home.kubectl("", "exec", "-n", local.Namespace, local.Name, "--", "echo", "hello", "a b")).To(Equal("hello a b\n"))
			Expect(home.kubectl("from here", "exec", "-i", "-n", local.Namespace, local.Name, "--", "cat")).To(Equal("from here"))
			_, err := home.kubectl("", "exec", "-n", local.Namespace, local.Name, "--", "exit", "7")
			var exit *exec.ExitError
			Expect(errors.As(err, &exit)).To(BeTrue())
			Expect(exit.ExitCode()).To(Equal(7))
			Expect(home.kubectl("", "attach", "-n", local.Namespace, local.Name)).To(ContainSubstring("attached to app\n"))
		}
	})

	It("forwards ports, over WebSockets and SPDY", func() {
		for _, ws := range []string{"true", "false"} {
			GinkgoT().Setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", ws)
			forwarding, err := gexec.Start(home.kubectlCommand(ctx, "port-forward", "--address=127.0.0.1", "-n", local.Namespace, local.Name, ":8080"), GinkgoWriter, GinkgoWriter)
			Expect(err).NotTo(HaveOccurred())
			Eventually(forwarding.Out).Should(gbytes.Say("Forwarding from .*\n"))
			address := regexp.MustCompile(`127.0.0.1:\d+`).FindString(string(forwarding.Out.Contents()))
			for range 3 {
				conn, err := net.Dial("tcp", address)
				Expect(err).NotTo(HaveOccurred())
				Expect(io.ReadAll(conn)).To(BeEquivalentTo("port 8080\n"))
				Expect(conn.Close()).To(Succeed())
			}
			forwarding.Kill()
			Eventually(forwarding).Should(gexec.Exit())
		}
	})

	It("keeps streams while the provider is not connected, until the pod goes at home", func() {
		away := newTeam()
		short, _ := served.runs(away)
		command := home.kubectlCommand(ctx, "exec", "-i", "-n", short.Namespace, short.Name, "--", "cat")
		in, err := command.StdinPipe()
		Expect(err).NotTo(HaveOccurred())
		talking, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		echoes := func(line string) {
			GinkgoHelper()
			_, err := io.WriteString(in, line)
			Expect(err).NotTo(HaveOccurred())
			Eventually(talking.Out).Should(gbytes.Say(line))
		}
		echoes("before\n")
		kubeconfig := eu.providerKubeconfig()
		home.putKubeconfig(away.cb.Name, edited(kubeconfig, func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { user.Token = canary }))
		Eventually(home.condition(away.cb, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonCredentialsInvalid))
		echoes("meanwhile\n")
		Expect(home.Delete(ctx, short, atOnce)).To(Succeed())
		Eventually(talking).Should(gexec.Exit(), "the stream should end with the pod")
		home.putKubeconfig(away.cb.Name, kubeconfig)
		home.bindingIsReady(away.cb)
	})

	It("shows one address on the node, and nothing is written again", func() {
		found := home.virtualNode(t.cb)
		Expect(found.Status.Addresses).To(ConsistOf(corev1.NodeAddress{Type: corev1.NodeHostName, Address: "127.0.0.1"}))
		Expect(found.Status.DaemonEndpoints.KubeletEndpoint.Port).To(BeEquivalentTo(served.Port))
	})

	It("says what pods use, as metrics-server asks for it", func() {
		Expect(home.virtualNode(t.cb).Annotations).To(HaveKeyWithValue(kubeletapi.AnnotationMetricsPath, kubeletapi.MetricsPath(t.cb.VirtualNodeName())))
		Expect(home.scrape(served.Port, t.cb)).To(BeEmpty(), "nobody serves metrics in the provider")
		Eventually(home.condition(t.cb, v1alpha1.BindingLimited)).Should(isTrue(v1alpha1.ReasonMetricsMissing, "it does not serve metrics.k8s.io"))

		remote := eu.remotePod(t.cb, local)
		eu.serveMetrics(metricsOf(remote.Namespace, remote.Name, remote.Labels),
			metricsOf(remote.Namespace, "foreign", nil), metricsOf(remote.Namespace, "none", remote.Labels))
		mine := fmt.Sprintf(`container="app",namespace="%s",pod="%s"`, local.Namespace, local.Name)
		Eventually(func() string { return home.scrape(served.Port, t.cb) }).Should(And(
			ContainSubstring("container_memory_working_set_bytes{"+mine+"} 6.7108864e+07"), ContainSubstring("container_cpu_usage_seconds_total{"+mine+"} "),
			ContainSubstring("container_start_time_seconds{"+mine+"} "), Not(ContainSubstring("foreign")), Not(ContainSubstring("none"))))
		Eventually(func() (*v1alpha1.ClusterBinding, error) { return home.binding(t.cb.Name) }).Should(
			HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1alpha1.BindingLimited)))), "nothing is missing any more")

		blind := newTeamWith(eu.lacking("pods.metrics.k8s.io", "list"))
		Expect(home.scrape(served.Port, blind.cb)).To(BeEmpty(), "the provider does not allow it")
		Eventually(home.condition(blind.cb, v1alpha1.BindingLimited)).Should(isTrue(v1alpha1.ReasonMetricsMissing, "does not let Spillway list pods.metrics.k8s.io", "role_metrics.yaml"))
		Expect(home.condition(blind.cb, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady))
	})

	It("says what is wrong", func() {
		says := func(what string, args ...string) {
			GinkgoHelper()
			_, err := home.kubectl("", args...)
			Expect(err).To(MatchError(ContainSubstring(what)))
		}
		waits := t.run()
		Expect(eu.remotePod(t.cb, waits)).NotTo(BeNil())
		says("has not started: it waits for a node of the provider", "exec", "-n", waits.Namespace, waits.Name, "--", "echo")
		kubeconfig := eu.lacking("pods/log", "get")
		limited := newTeamWith(kubeconfig)
		unread, _ := served.runs(limited)
		says("does not allow pods/log, which only its administrator can change. It says: pods", "logs", "-n", unread.Namespace, unread.Name)
		change(home, limited.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = true })
		Eventually(func() error {
			_, err := home.kubectl("", "exec", "-n", unread.Namespace, unread.Name, "--", "echo")
			return err
		}).Should(MatchError(ContainSubstring("is paused (spec.paused)")))
		change(home, limited.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = false })
	})

	It("is found at the address of the manager that serves it, also while a binding is paused", func() {
		moved := served.Options
		moved.Port = freePort()
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = true })
		Eventually(home.condition(t.cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonPaused))
		running.stop()
		found := home.virtualNode(t.cb)
		Expect(found.Status.Addresses).To(ConsistOf(HaveField("Address", found.Name)), "nobody serves it, whoever gets the address next")
		running = startManager(home, manager.Options{ConsumerID: homeID, Kubelet: moved})
		Eventually(now(home, found)).Should(HaveField("Status.DaemonEndpoints.KubeletEndpoint.Port", BeEquivalentTo(moved.Port)))
		_, err := home.kubectl("", "logs", "-n", local.Namespace, local.Name)
		Expect(err).To(MatchError(ContainSubstring("is paused (spec.paused)")))
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = false })
		served.Port = moved.Port
		home.bindingIsReady(t.cb)
	})

	It("knows who asks, and what they may", func() {
		logs := "/containerLogs/" + local.Namespace + "/" + local.Name + "/app"
		command := "/exec/" + local.Namespace + "/" + local.Name + "/app?command=echo&output=1"
		reader, writer := home.nodeUser("get"), home.nodeUser("get", "create")
		metrics, scraper := kubeletapi.MetricsPath(t.cb.VirtualNodeName()), home.nodeUser()
		home.allow(scraper, "nodes/metrics", "get")
		withToken := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
		admin := home.Config().TLSClientConfig
		foreign := eu.Config().TLSClientConfig
		for what, test := range map[string]struct {
			path   string
			header http.Header
			as     *rest.TLSClientConfig
			code   int
		}{
			"the administrator's certificate":        {logs, nil, &admin, http.StatusOK},
			"no certificate":                         {logs, nil, nil, http.StatusUnauthorized},
			"a certificate of another authority":     {logs, nil, &foreign, http.StatusUnauthorized},
			"a name in a header":                     {logs, http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}, "Impersonate-User": {"admin"}}, nil, http.StatusUnauthorized},
			"a token":                                {logs, withToken(reader.token()), nil, http.StatusOK},
			"a token for another audience":           {logs, withToken(reader.token("https://elsewhere.example")), nil, http.StatusUnauthorized},
			"a token that has expired":               {logs, withToken(reissued(reader.token(), -time.Hour)), nil, http.StatusUnauthorized},
			"one that has not, and is made likewise": {logs, withToken(reissued(reader.token(), time.Hour)), nil, http.StatusOK},
			"no token of anybody":                    {logs, withToken("eyJhbGciOiJub25lIn0.e30."), nil, http.StatusUnauthorized},
			"who may read runs no command":           {command, upgradeWith(withToken(reader.token())), nil, http.StatusForbidden},
			"who may write runs one":                 {command, upgradeWith(withToken(writer.token())), nil, http.StatusSwitchingProtocols},
			"who may nothing with nodes":             {logs, withToken(home.nodeUser().token()), nil, http.StatusForbidden},
			"who may read logs reads no metrics":     {metrics, withToken(reader.token()), nil, http.StatusForbidden},
			"who may read metrics":                   {metrics, withToken(scraper.token()), nil, http.StatusOK},
			"who may read metrics reads no logs":     {logs, withToken(scraper.token()), nil, http.StatusForbidden},
			"metrics, without a certificate":         {metrics, nil, nil, http.StatusUnauthorized},
			"metrics of no virtual node":             {kubeletapi.MetricsPath("other"), nil, &admin, http.StatusNotFound},
			"metrics of no node":                     {"/metrics/resource", nil, &admin, http.StatusNotFound},
			"a pod that is on no virtual node":       {"/containerLogs/kube-system/none/app", nil, &admin, http.StatusBadRequest},
			"another path of the API of kubelets":    {"/pods", nil, &admin, http.StatusNotFound},
			"a path that leads elsewhere if cleaned": {"/containerLogs/x/../../pods", nil, &admin, http.StatusNotFound},
		} {
			Expect(ask(served.Port, test.path, test.header, test.as)).To(Equal(test.code), what)
		}
		gone := home.nodeUser("get")
		token := gone.token()
		Expect(home.Delete(ctx, &gone.ServiceAccount)).To(Succeed())
		Eventually(func() int { return ask(served.Port, logs, withToken(token), nil) }).Should(Equal(http.StatusUnauthorized), "a token that counts no longer")
	})
})

// nodeUser is an account with rights on nodes/proxy.
type nodeUser struct{ corev1.ServiceAccount }

func (c *controlPlane) nodeUser(verbs ...string) *nodeUser {
	GinkgoHelper()
	name := unique("user")
	u := &nodeUser{corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}}
	c.make(&u.ServiceAccount)
	if len(verbs) > 0 {
		c.allow(u, "nodes/proxy", verbs...)
	}
	return u
}

// allow grants an account verbs on all objects of a resource.
func (c *controlPlane) allow(u *nodeUser, resource string, verbs ...string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Name: u.Name}
	c.create(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}}})
	c.create(&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: u.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: u.Name}}})
}

// token requests a token for these audiences, by default for the API server.
func (u *nodeUser) token(audiences ...string) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	Expect(home.SubResource("token").Create(ctx, &u.ServiceAccount, request)).To(Succeed())
	credentials.note(request.Status.Token)
	return request.Status.Token
}

// reissued returns the same token with another remaining lifetime. It is signed with the key of kwokctl's
// certificates, which home also uses for its tokens.
func reissued(token string, left time.Duration) string {
	GinkgoHelper()
	parts := strings.Split(token, ".")
	Expect(parts).To(HaveLen(3))
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	Expect(err).NotTo(HaveOccurred())
	claims := map[string]any{}
	Expect(json.Unmarshal(payload, &claims)).To(Succeed())
	claims["exp"] = time.Now().Add(left).Unix()
	payload, err = json.Marshal(claims)
	Expect(err).NotTo(HaveOccurred())
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	key, err := keyutil.ParsePrivateKeyPEM(home.Config().KeyData)
	Expect(err).NotTo(HaveOccurred())
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, key.(*rsa.PrivateKey), crypto.SHA256, digest[:]) //nolint:forcetypeassert // The header of the token says RS256.
	Expect(err).NotTo(HaveOccurred())
	made := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
	credentials.note(made)
	return made
}

func upgradeWith(header http.Header) http.Header {
	header.Set("Connection", "Upgrade")
	header.Set("Upgrade", "SPDY/3.1")
	header.Set("X-Stream-Protocol-Version", "v4.channel.k8s.io")
	return header
}

// ask sends a request straight to the listener, not through the API server, and returns the status code.
func ask(port int, path string, header http.Header, as *rest.TLSClientConfig) int {
	GinkgoHelper()
	code, _ := askFor(port, path, header, as, 0)
	return code
}

// askFor also returns that much of the body.
func askFor(port int, path string, header http.Header, as *rest.TLSClientConfig, most int64) (code int, body string) {
	GinkgoHelper()
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The manager signs its certificate itself.
	if as != nil {
		pair, err := tls.X509KeyPair(as.CertData, as.KeyData)
		Expect(err).NotTo(HaveOccurred())
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d", port), nil)
	Expect(err).NotTo(HaveOccurred())
	req.URL.Opaque = path // Unchanged.
	if header != nil {
		req.Header = header
	}
	resp, err := transport.RoundTrip(req)
	Expect(err).NotTo(HaveOccurred())
	read, err := io.ReadAll(io.LimitReader(resp.Body, most))
	Expect(err).NotTo(HaveOccurred())
	Expect(resp.Body.Close()).To(Succeed())
	return resp.StatusCode, string(read)
}

// scheduleTo binds a pod to a node of the cluster.
func (c *controlPlane) scheduleTo(pod *corev1.Pod, node string) {
	GinkgoHelper()
	Expect(c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})).To(Succeed())
	Expect(c.fetching(pod)()).To(Succeed())
}

// newKubelet creates a node with a played kubelet API.
func (c *controlPlane) newKubelet() (node string) {
	GinkgoHelper()
	played := player.Start()
	DeferCleanup(played.Stop)
	served := providerNode("64", "64Gi")
	served.Spec.Unschedulable = true
	c.create(served)
	before := served.DeepCopy()
	served.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	served.Status.DaemonEndpoints.KubeletEndpoint.Port = played.Port()
	Expect(c.Status().Patch(ctx, served, client.MergeFrom(before))).To(Succeed())
	return served.Name
}

// freePort returns a port that nobody listens at.
func freePort() int {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // It listens at TCP.
}
