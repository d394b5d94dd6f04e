package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestConsumerRights compares the rights of the identity with the expected ones, without the rights that
// everybody has.
func TestConsumerRights(t *testing.T) {
	consumer := inProvider(t)
	want := sets.Set[string]{}
	for _, rule := range []string{
		"namespaces: get list watch create delete",
		"nodes: get list watch",
		"pods: get list watch create patch delete",
		"pods/ephemeralcontainers: patch",
		"pods/resize: patch",
		"configmaps: get list watch create patch delete",
		"secrets: get list watch create patch delete",
		"persistentvolumeclaims: get list watch create patch delete",
		"persistentvolumes: get list watch create patch delete",
		"services: get list watch create patch delete",
		"events: list watch",
		"pods/log: get",
		"pods/exec: get create",
		"pods/attach: get create",
		"pods/portforward: get create",
	} {
		resource, verbs, _ := strings.Cut(rule, ": ")
		for _, verb := range strings.Fields(verbs) {
			want.Insert(verb + " /" + resource)
		}
	}
	for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
		want.Insert(verb+" networking.k8s.io/networkpolicies", verb+" discovery.k8s.io/endpointslices", verb+" policy/poddisruptionbudgets", verb+" networking.k8s.io/ingresses",
			verb+" gateway.networking.k8s.io/httproutes", verb+" gateway.networking.k8s.io/grpcroutes")
	}
	for _, verb := range []string{"list", "watch"} {
		want.Insert(verb+" networking.k8s.io/ingressclasses", verb+" node.k8s.io/runtimeclasses", verb+" scheduling.k8s.io/priorityclasses", verb+" storage.k8s.io/storageclasses", verb+" storage.k8s.io/volumeattributesclasses",
			verb+" storage.k8s.io/csidrivers", verb+" storage.k8s.io/csistoragecapacities")
	}
	want.Insert("list metrics.k8s.io/pods")
	// The namespaces of the identity itself, of the cluster, and of nobody. A Role in one of them would count
	// only there.
	inOwn := want.Union(sets.New("get coordination.k8s.io/leases", "create coordination.k8s.io/leases",
		"patch coordination.k8s.io/leases", "delete coordination.k8s.io/leases"))
	for namespace, want := range map[string]sets.Set[string]{"spillway-provider": inOwn, "kube-system": want, namespaceOf(t, nil): want} {
		got := rights(t, consumer, namespace).Difference(rights(t, server(t).consumer(t, "anybody"), namespace))
		if diff := cmp.Diff(sets.List(want), sets.List(got)); diff != "" {
			t.Errorf("rights in namespace %s (-want +got):\n%s", namespace, diff)
		}
	}
}

// TestEveryConsumerReadsTheLimits uses an account without any granted right.
func TestEveryConsumerReadsTheLimits(t *testing.T) {
	anybody := server(t).consumer(t, "anybody")
	named, own := client.MatchingFields{"metadata.name": "limits"}, client.InNamespace("spillway-provider")
	refused(t, anybody.List(t.Context(), &corev1.ConfigMapList{}, named, own), "")
	refused(t, watching(t.Context(), anybody, &corev1.ConfigMapList{}, named, own), "")
	refused(t, anybody.List(t.Context(), &corev1.ConfigMapList{}, own), `cannot list resource "configmaps"`)
	refused(t, anybody.List(t.Context(), &corev1.ConfigMapList{}, named, client.InNamespace("default")), `cannot list resource "configmaps"`)
}

// rights returns the rights that RBAC gives somebody in a namespace. A wildcard is a right on *.
func rights(t *testing.T, c client.Client, namespace string) sets.Set[string] {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := c.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete {
		t.Fatalf("not all rights are known: %s", review.Status.EvaluationError)
	}
	all := sets.Set[string]{}
	for _, rule := range review.Status.ResourceRules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					all.Insert(strings.TrimSuffix(verb+" "+group+"/"+resource+" "+strings.Join(rule.ResourceNames, ","), " "))
				}
			}
		}
	}
	for _, rule := range review.Status.NonResourceRules {
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				all.Insert(verb + " URL " + path)
			}
		}
	}
	return all
}

// TestConsumerHasNoRightTo tries requests that would lead further, in a namespace and on a pod of its own.
func TestConsumerHasNoRightTo(t *testing.T) {
	consumer := inProvider(t)
	clientset, err := kubernetes.NewForConfig(server(t).accountConfig(v1alpha1.ProviderNamespace, shippedAccount))
	if err != nil {
		t.Fatal(err)
	}
	namespace := namespaceOf(t, held(mark()))
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "pod", Labels: mark()}
	pod := made(t, podOf(meta))
	account := made(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "builder"}})
	admin := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	attempt(t, map[string]try{
		"reach a pod": {func(ctx context.Context) error {
			return clientset.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name("pod").SubResource("proxy").Do(ctx).Error()
		}, `cannot get resource "pods/proxy"`},
		"choose a pod's node": {func(ctx context.Context) error {
			return consumer.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}})
		}, `cannot create resource "pods/binding"`},
		"evict a pod": {func(ctx context.Context) error {
			return consumer.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
		}, `cannot create resource "pods/eviction"`},
		"write a pod's status": {func(ctx context.Context) error {
			return consumer.Status().Patch(ctx, podOf(meta), merge(`{"status":{"phase":"Failed"}}`))
		}, `cannot patch resource "pods/status"`},
		"replace a pod": {func(ctx context.Context) error { return consumer.Update(ctx, podOf(meta)) }, `cannot update resource "pods"`},
		"delete all pods": {func(ctx context.Context) error {
			return consumer.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace))
		}, `cannot deletecollection resource "pods"`},
		"see what one pod uses": {func(ctx context.Context) error {
			return clientset.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/" + namespace + "/pods/pod").Do(ctx).Error()
		}, `cannot get resource "pods" in API group "metrics.k8s.io"`},
		"see what nodes use": {func(ctx context.Context) error {
			return clientset.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").Do(ctx).Error()
		}, `cannot list resource "nodes" in API group "metrics.k8s.io"`},
		"ask a kubelet for metrics": {func(ctx context.Context) error {
			return clientset.CoreV1().RESTClient().Get().Resource("nodes").Name("node").SubResource("metrics").Do(ctx).Error()
		}, `cannot get resource "nodes/metrics"`},
		"reach a kubelet": {func(ctx context.Context) error {
			return clientset.CoreV1().RESTClient().Get().Resource("nodes").Name("node").SubResource("proxy").Do(ctx).Error()
		}, `cannot get resource "nodes/proxy"`},
		"get a token": {func(ctx context.Context) error {
			return consumer.SubResource("token").Create(ctx, account, &authenticationv1.TokenRequest{})
		}, `cannot create resource "serviceaccounts/token"`},
		"list ServiceAccounts": {func(ctx context.Context) error { return consumer.List(ctx, &corev1.ServiceAccountList{}) },
			`cannot list resource "serviceaccounts"`},
		"list bindings of roles": {func(ctx context.Context) error { return consumer.List(ctx, &rbacv1.RoleBindingList{}) },
			`cannot list resource "rolebindings"`},
		"bind a role": {func(ctx context.Context) error {
			return consumer.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: admin})
		}, `cannot create resource "rolebindings"`},
		"bind a role everywhere": {func(ctx context.Context) error {
			return consumer.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, RoleRef: admin})
		}, `cannot create resource "clusterrolebindings"`},
		"change its namespace": {func(ctx context.Context) error {
			return consumer.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, merge(`{"metadata":{"labels":{"a":"b"}}}`))
		}, `cannot patch resource "namespaces"`},
		"change a node": {func(ctx context.Context) error {
			return consumer.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}, merge(`{"metadata":{"labels":{"a":"b"}}}`))
		}, `cannot patch resource "nodes"`},
		"list the Leases of others": {func(ctx context.Context) error {
			return consumer.List(ctx, &coordinationv1.LeaseList{}, client.InNamespace("spillway-provider"))
		}, `cannot list resource "leases"`},
		"hold a node's Lease": {func(ctx context.Context) error {
			return consumer.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "node"}})
		}, `cannot create resource "leases"`},
		"write a Service's status": {func(ctx context.Context) error {
			return consumer.Status().Patch(ctx, serviceOf(meta), merge(`{"status":{"loadBalancer":{}}}`))
		}, `cannot patch resource "services/status"`},
		"reach a Service": {func(ctx context.Context) error {
			return clientset.CoreV1().RESTClient().Get().Namespace(namespace).Resource("services").Name("web").SubResource("proxy").Do(ctx).Error()
		}, `cannot get resource "services/proxy"`},
		"write events": {func(ctx context.Context) error { return consumer.Create(ctx, &corev1.Event{ObjectMeta: meta}) },
			`cannot create resource "events"`},
	})
}
