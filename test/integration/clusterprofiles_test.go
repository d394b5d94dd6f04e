package integration

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/manifests"
)

var _ = Describe("ClusterProfiles", slow, func() {
	It("say what is missing, follow the provider, are not written without a change, and go with the binding", func() {
		spec, namespace := unique("spec"), home.newNamespace()
		home.takesPods(namespace)
		us.create(providerNode("4", "8Gi"))
		cb, taken := home.bind(us, spec, withLabels(corev1.LabelTopologyRegion, "europe")), home.bind(us, spec)
		home.bindingIsReady(cb, taken)
		p := &publishing{binding: cb.Name}
		p.restart(namespace)
		DeferCleanup(func() { restart(fleet.Options{}) })

		By("starting without the kind")
		told := func(reason, text string) {
			GinkgoHelper()
			Eventually(home.eventsAbout(cb)).Should(ContainElement(And(HaveField("Reason", reason), noting(text, "--cluster-profiles"))))
		}
		told(v1alpha1.ReasonKindNotServed, "install the CustomResourceDefinition clusterprofiles.multicluster.x-k8s.io")
		home.passes(selecting(labelSpec, spec))

		By("installing the kind, and then giving the right")
		crds, err := manifests.ClusterProfiles(ctx)
		Expect(err).NotTo(HaveOccurred())
		home.create(crds[0])
		others := &inventory.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: taken.Name}, Spec: inventory.ClusterProfileSpec{ClusterManager: inventory.ClusterManager{Name: "other"}}}
		Eventually(func() error { return home.Create(ctx, others.DeepCopy()) }).Should(Succeed())
		told(v1alpha1.ReasonRightsMissing, "bind the ClusterRole spillway-cluster-profiles")
		home.create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "spillway-cluster-profiles"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-cluster-profiles"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manager.DefaultNamespace, Name: "spillway-manager"}},
		})
		profile := &inventory.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cb.Name}}
		Eventually(said(profile)).Should(And(
			HaveKeyWithValue("capacity.spillway.io/cpu", "4"), HaveKeyWithValue("free.spillway.io/cpu", "4"), HaveKeyWithValue("free.spillway.io/memory", "8Gi"),
			HaveKeyWithValue(v1alpha1.LabelCluster, cb.Spec.ClusterID), HaveKeyWithValue("spillway.io/cluster-uid", us.uid), HaveKeyWithValue(corev1.LabelTopologyRegion, "europe"),
			HaveKeyWithValue("ControlPlaneHealthy", "True"), HaveKeyWithValue("Ready", "True"), HaveKeyWithValue("version", HavePrefix("v1."))))
		Expect(profile.Status.AccessProviders).To(BeEmpty())

		By("leaving somebody else's alone, until it is deleted")
		Eventually(home.eventsAbout(taken)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonNameConflict), noting(namespace+"/"+taken.Name))))
		Expect(said(others)()).To(Equal(map[string]string{"version": ""}))
		home.drop(others)
		Eventually(said(others)).Should(HaveKeyWithValue("Ready", "True"))

		By("changing the provider")
		began := time.Now()
		follows := func(what, key, value string) {
			GinkgoHelper()
			Eventually(said(profile)).Should(HaveKeyWithValue(key, value), what)
			AddReportEntry(what+": the profile says so within", time.Since(began).String())
			began = time.Now()
		}
		pod := home.runPod(cb, namespace, requesting("1500m"))
		DeferCleanup(func() { home.drop(pod) })
		follows("a pod", "free.spillway.io/cpu", "2500m")
		us.create(providerNode("2", "4Gi"))
		follows("a node", "capacity.spillway.io/cpu", "6")
		follows("what is free of it", "free.spillway.io/cpu", "4500m")
		p.away.Store(true)
		follows("an outage", "ControlPlaneHealthy", "False")
		p.upgraded.Store(true)
		p.away.Store(false)
		follows("its end", "ControlPlaneHealthy", "True")
		follows("the new version", "version", "v9.8.7")

		By("starting again, which writes nothing")
		before := settled([]func() (string, error){version(home, profile)})
		p.restart(namespace)
		Eventually(p.reads.Load).Should(BeNumerically(">=", 2), "each profile is looked at")
		home.passes(selecting(labelSpec, spec))
		Expect(settled([]func() (string, error){version(home, profile)})).To(Equal(before))
		Expect(p.writes.Load()).To(BeZero())

		By("unbinding")
		Expect(home.Delete(ctx, pod, atOnce)).To(Succeed())
		home.drop(cb)
		Eventually(home.fetching(profile)).Should(absent)
		Expect(said(others)()).To(HaveKeyWithValue("Ready", "True"))

		By("publishing nothing without the flag")
		p.restart("")
		home.passes(selecting(labelSpec, spec))
		Expect(p.reads.Load() + p.writes.Load()).To(BeZero())
	})
})

// publishing is a manager whose requests for ClusterProfiles are counted.
type publishing struct {
	reads, writes atomic.Int32
	// binding is the ClusterBinding whose provider may be away, or have another version.
	binding        string
	away, upgraded atomic.Bool
}

// restart starts the manager again, with --cluster-profiles. It counts from then on.
func (p *publishing) restart(namespace string) {
	GinkgoHelper()
	running.stop()
	p.reads.Store(0)
	p.writes.Store(0)
	running = startManager(home, manager.Options{
		ConsumerID: homeID, ClusterProfiles: namespace, Fleet: fleet.Options{WrapTransport: p.provider},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.Contains(r.URL.Path, "/clusterprofiles") {
					if r.Method == http.MethodGet {
						p.reads.Add(1)
					} else {
						p.writes.Add(1)
					}
				}
				return next.RoundTrip(r)
			})
		},
	})
}

func (p *publishing) provider(binding string, next http.RoundTripper) http.RoundTripper {
	if binding != p.binding {
		return next
	}
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if p.away.Load() {
			return nil, errors.New("cut off by the spec")
		}
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Path == "/version" && p.upgraded.Load() {
			_ = response.Body.Close()
			response.Body, response.ContentLength = io.NopCloser(strings.NewReader(`{"gitVersion": "v9.8.7"}`)), -1
			response.Header.Del("Content-Length")
		}
		return response, err
	})
}

// said reads what a ClusterProfile says: its properties, the statuses of its conditions, and the version.
func said(profile *inventory.ClusterProfile) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		if err := home.fetching(profile)(); err != nil {
			return nil, err
		}
		all := map[string]string{"version": profile.Status.Version.Kubernetes}
		for _, p := range profile.Status.Properties {
			all[p.Name] = p.Value
		}
		for _, c := range profile.Status.Conditions {
			all[c.Type] = string(c.Status)
		}
		return all, nil
	}
}
