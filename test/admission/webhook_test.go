package admission

import (
	"context"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/podadmission"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/test/manifests"
	"github.com/spillway-io/spillway/test/webhook"
)

// TestWebhook runs the policy's table against the webhook.
func TestWebhook(t *testing.T) {
	for name, test := range podCases {
		t.Run(name, func(t *testing.T) {
			m := webhooked(t)
			t.Parallel()
			pod := test.pod(offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: test.strategy, ClusterSelector: test.selector}))
			if err := m.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			test.compare(t, "by the webhook", pod)
		})
	}
}

// TestWebhookIsMissed makes the webhook unreachable in every possible way. Pods are then created unchanged.
// If one gets a local node, an event tells its owner.
func TestWebhookIsMissed(t *testing.T) {
	m, shipped := webhooked(t), shippedWebhook(t)
	for name, instead := range map[string]func(*testing.T) (port int){
		"nothing listens":                nobodyListens,
		"its certificate has expired":    m.servesExpired,
		"it takes longer than it may":    m.servesSlowly,
		"it ends the connection at once": hangsUp,
	} {
		t.Run(name, func(t *testing.T) {
			namespace := offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
			m.leadTo(t, instead(t), shipped.TimeoutSeconds)
			settled(t, m, false, namespace)
			m.isTold(t, m.lands(t, namespace, "missed"))
			m.isSeen(t, namespace, doctor.Missed)
			m.leadTo(t, m.port, ptr.To[int32](webhook.Patience))
			settled(t, m, true, namespace)
			m.isSeen(t, namespace, doctor.Got)
		})
	}
}

// isSeen checks whether kubectl spillway doctor sees that pods are prepared.
func (m *managed) isSeen(t *testing.T, namespace string, want doctor.Answer) {
	t.Helper()
	offloading := &v1alpha1.NamespaceOffloading{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}, offloading); err != nil {
		t.Fatal(err)
	}
	if prepared, err := doctor.Prepared(t.Context(), m, offloading); err != nil || prepared != want {
		t.Errorf("prepared: %s (%v), want %s", prepared, err, want)
	}
}

// TestWebhookIsDown stops the manager. When it is back, it reports the missed pods; the next one does not
// report them again.
func TestWebhookIsDown(t *testing.T) {
	m := webhooked(t)
	namespace := offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	var missed []*corev1.Pod
	for _, name := range []string{"first", "second"} {
		m.end(t)
		missed = append(missed, m.lands(t, namespace, name))
		m.begin(t)
		m.isTold(t, missed[len(missed)-1])
	}
	for _, pod := range missed {
		if toleratesVirtualNodes(pod) {
			t.Errorf("pod %s was prepared while the webhook was down", pod.Name)
		}
		if n := m.tellings(t.Context(), t, pod); n != 1 {
			t.Errorf("the owner of pod %s is told %d times, want once", pod.Name, n)
		}
	}
	settled(t, m, true, namespace)
}

// TestWebhookOfAStandby: a replica that is not the leader serves the webhook.
func TestWebhookOfAStandby(t *testing.T) {
	m := webhooked(t)
	namespace := offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	m.end(t)
	temporaryIn(t, m.apiServer, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-system", Name: "spillway-manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](3600),
			AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro())},
	})
	err := m.startAs(context.WithoutCancel(t.Context()), m.accountConfig("spillway-system", "spillway-manager"), func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, "spillway-manager", "spillway-system"
	})
	if err != nil {
		t.Fatal(err)
	}
	settled(t, m, true, namespace)
	m.end(t)
	settled(t, m, false, namespace)
	m.begin(t)
	settled(t, m, true, namespace)
}

// TestWebhookRenewsItsCertificate starts the manager with an expired certificate.
func TestWebhookRenewsItsCertificate(t *testing.T) {
	m := webhooked(t)
	namespace := offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	m.end(t)
	secret := m.secret(t)
	expired, key := m.expired(t)
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = expired, key
	if err := m.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	m.begin(t)
	settled(t, m, true, namespace)
	if string(m.secret(t).Data[corev1.TLSCertKey]) == string(expired) {
		t.Error("it was not renewed")
	}
}

// TestWebhookIsSaid follows the condition of a ClusterBinding.
func TestWebhookIsSaid(t *testing.T) {
	m := webhooked(t)
	binding := temporaryIn(t, m.apiServer, &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "said"},
		Spec:       v1alpha1.ClusterBindingSpec{ClusterID: "said", KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: "none"}},
	})
	says := func(reason string) {
		t.Helper()
		err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
			if err := m.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
				return false, err
			}
			condition := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingPodAdmission)
			return condition != nil && condition.Reason == reason, nil
		})
		if err != nil {
			t.Fatalf("waiting for the reason %s: %v; the conditions are %v", reason, err, binding.Status.Conditions)
		}
	}
	says(v1alpha1.ReasonWebhookServed)
	if err := m.Delete(t.Context(), m.configuration(t)); err != nil {
		t.Fatal(err)
	}
	says(v1alpha1.ReasonWebhookNotConfigured)
	shipped, err := read("config/webhook/configuration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	webhook.Redirect(shipped[0], m.port)
	if err := manifests.Create(t.Context(), m, shipped); err != nil {
		t.Fatal(err)
	}
	says(v1alpha1.ReasonWebhookServed)
}

// TestWebhookLeavesAlone tests namespaces for which the webhook is not called, whatever their
// NamespaceOffloading says: their pods cause no request.
func TestWebhookLeavesAlone(t *testing.T) {
	m := webhooked(t)
	namespace := offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	for _, name := range []string{"kube-system", "spillway-system", "kube-own"} {
		if name == "kube-own" {
			temporaryIn(t, m.apiServer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		temporaryIn(t, m.apiServer, &v1alpha1.NamespaceOffloading{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: v1alpha1.OffloadingName},
			Spec:       v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote},
		})
	}
	settled(t, m, true, namespace)
	for _, name := range []string{"kube-system", "kube-own"} { // The manager's own namespace accepts only restricted pods.
		settled(t, m, false, name)
	}
}

// TestWebhookAsksNothing counts the manager's requests while it prepares pods. Once, the manager looks for
// pods that were missed before it handled the offloading.
func TestWebhookAsksNothing(t *testing.T) {
	m := webhooked(t)
	namespace := offloadedIn(t, m.apiServer, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	before := m.asked(namespace)
	const pods = 20
	for range pods {
		if pod := newPod(namespace); m.Create(t.Context(), pod, client.DryRunAll) != nil || !toleratesVirtualNodes(pod) {
			t.Fatal("a pod was not prepared")
		}
	}
	if asked := m.asked(namespace) - before; asked >= pods {
		t.Errorf("%d requests for %d pods", asked, pods)
	}
}

// TestWebhookRights checks the rights of the manager's account for the webhook.
func TestWebhookRights(t *testing.T) {
	m := webhooked(t)
	const webhooks, policies = "mutatingwebhookconfigurations", "mutatingadmissionpolicies"
	for _, test := range []struct {
		verbs                          []string
		group, resource, namespace, of string
		allowed                        bool
	}{
		{[]string{"get", "list", "watch", "update", "delete"}, "admissionregistration.k8s.io", webhooks, "", "spillway-pods", true},
		{[]string{"create", "patch", "deletecollection"}, "admissionregistration.k8s.io", webhooks, "", "spillway-pods", false},
		{[]string{"create", "update", "patch", "delete"}, "admissionregistration.k8s.io", webhooks, "", "another", false},
		{[]string{"get"}, "admissionregistration.k8s.io", policies, "", "spillway-pods", true},
		{[]string{"create", "update", "patch", "delete"}, "admissionregistration.k8s.io", policies, "", "spillway-pods", false},
		{[]string{"get", "list"}, "admissionregistration.k8s.io", policies, "", "another", false},
		{[]string{"get", "update"}, "", "secrets", "spillway-system", "spillway-webhook", true},
		{[]string{"create", "delete"}, "", "secrets", "spillway-system", "spillway-webhook", false},
		{[]string{"update"}, "", "secrets", "spillway-system", "another", false},
		{[]string{"update"}, "", "secrets", "default", "spillway-webhook", false},
	} {
		for _, verb := range test.verbs {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: managerName,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: test.group, Version: "v1", Resource: test.resource, Namespace: test.namespace, Name: test.of},
			}}
			if err := m.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != test.allowed {
				t.Errorf("%s %s %s: allowed %t, want %t", verb, test.resource, test.of, review.Status.Allowed, test.allowed)
			}
		}
	}
}

// TestWebhookSecretOnly: the policy about the manager's writes lets it change its own Secret, and no other.
func TestWebhookSecretOnly(t *testing.T) {
	m := webhooked(t)
	manager, err := m.account("spillway-system", "spillway-manager")
	if err != nil {
		t.Fatal(err)
	}
	namespace := namespaceIn(t, m.apiServer, nil)
	for _, key := range []client.ObjectKey{{Namespace: "spillway-system", Name: "another"}, {Namespace: namespace, Name: v1alpha1.WebhookSecret}} {
		temporaryIn(t, m.apiServer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	}
	changed := func(namespace, name string) func(context.Context) error {
		return patching(manager, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, `{"data":{"other":"eA=="}}`)
	}
	attempt(t, map[string]try{
		"its own":                {changed("spillway-system", v1alpha1.WebhookSecret), ""},
		"another there":          {changed("spillway-system", "another"), "data must not change"},
		"of that name somewhere": {changed(namespace, v1alpha1.WebhookSecret), "data must not change"},
	})
}

// TestPolicyInPlaceOfTheWebhook: if both the policy and the webhook are installed, the manager deletes the
// webhook's configuration.
func TestPolicyInPlaceOfTheWebhook(t *testing.T) {
	needsPolicy(t)
	clients, err := kubernetes.NewForConfig(server(t).config)
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[podadmission.Mode]podadmission.Choice{
		podadmission.Policy:  {PolicyServed: true},
		podadmission.Webhook: {PolicyServed: true, Webhook: true},
		podadmission.Auto:    {PolicyServed: true, Remove: true},
	} {
		if got, err := podadmission.Choose(t.Context(), mode, clients); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", mode, got, err, want)
		}
	}
	shipped, err := read("config/webhook/configuration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	another := shipped[0].DeepCopy()
	another.SetName("another")
	temporary(t, another)
	temporary(t, shipped[0])
	m := &managed{apiServer: server(t)}
	if err := m.startAs(t.Context(), server(t).config); err != nil {
		t.Fatal(err)
	}
	defer m.end(t)
	err = eventually(t.Context(), func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(shipped[0]), shipped[0].DeepCopy())
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("waiting until the configuration of the webhook is gone: %v", err)
	}
	if err := m.Get(t.Context(), client.ObjectKeyFromObject(another), another); err != nil {
		t.Errorf("another configuration: %v", err)
	}
}

// lands creates a pod, and binds it to a local node, as the scheduler would.
func (m *managed) lands(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pod := newPod(namespace)
	pod.Name = name
	if err := m.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := m.SubResource("binding").Create(t.Context(), pod.DeepCopy(), &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "local"}}); err != nil {
		t.Fatal(err)
	}
	return pod
}

// isTold waits until an event tells the owner that the pod is on a local node.
func (m *managed) isTold(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if err := eventually(t.Context(), func(ctx context.Context) (bool, error) { return m.tellings(ctx, t, pod) > 0, nil }); err != nil {
		t.Fatalf("waiting for an event on pod %s that says that it is on a local node: %v", pod.Name, err)
	}
}

// tellings counts these events.
func (m *managed) tellings(ctx context.Context, t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	var events corev1.EventList
	if err := m.List(ctx, &events, client.InNamespace(pod.Namespace)); err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(events.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.UID != pod.UID || e.Reason != unscheduledpod.ReasonOnLocalNode
	}))
}

func (m *managed) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: "spillway-system", Name: v1alpha1.WebhookSecret}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func (m *managed) configuration(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := m.Get(t.Context(), client.ObjectKey{Name: v1alpha1.PodAdmissionName}, configuration); err != nil {
		t.Fatal(err)
	}
	return configuration
}
