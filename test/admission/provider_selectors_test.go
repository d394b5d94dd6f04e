package admission

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestConsumerSeesItsOwn tests config/provider/authorization.yaml, which an administrator may add.
func TestConsumerSeesItsOwn(t *testing.T) {
	consumer := spare(t).consumer(t, shippedAccount)
	// A manager selects by the labels of its mark, but not by the account.
	own, others := client.MatchingLabels(markOf("")), client.MatchingLabels(markOf(""))
	others[v1alpha1.LabelOrigin] = "other"
	for kind, list := range map[string]func() client.ObjectList{
		"pods":       func() client.ObjectList { return &corev1.PodList{} },
		"configmaps": func() client.ObjectList { return &corev1.ConfigMapList{} },
		"secrets":    func() client.ObjectList { return &corev1.SecretList{} },
		"claims":     func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} },
		"volumes":    func() client.ObjectList { return &corev1.PersistentVolumeList{} },
		"services":   func() client.ObjectList { return &corev1.ServiceList{} },
		"policies":   func() client.ObjectList { return &networkingv1.NetworkPolicyList{} },
		"endpoints":  func() client.ObjectList { return &discoveryv1.EndpointSliceList{} },
		"budgets":    func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} },
		"ingresses":  func() client.ObjectList { return &networkingv1.IngressList{} },
		"httproutes": func() client.ObjectList { return &gatewayv1.HTTPRouteList{} },
		"grpcroutes": func() client.ObjectList { return &gatewayv1.GRPCRouteList{} },
	} {
		t.Run("list "+kind, func(t *testing.T) {
			hidden(t, consumer.List(t.Context(), list(), own), false)
			hidden(t, consumer.List(t.Context(), list()), true)
			hidden(t, consumer.List(t.Context(), list(), others), true)
			hidden(t, consumer.List(t.Context(), list(), client.HasLabels{v1alpha1.LabelOrigin}), true)
		})
		t.Run("watch "+kind, func(t *testing.T) {
			hidden(t, watching(t.Context(), consumer, list(), own), false)
			hidden(t, watching(t.Context(), consumer, list()), true)
		})
	}
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "object"}
	for kind, test := range map[string]struct {
		object client.Object
		hidden bool
	}{
		"secret":            {&corev1.Secret{ObjectMeta: meta}, true},
		"configmap":         {&corev1.ConfigMap{ObjectMeta: meta}, true},
		"pod":               {&corev1.Pod{ObjectMeta: meta}, true},
		"pod like its own":  {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-demo", Name: "pod"}}, false},
		"pod not quite so":  {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-demo-system", Name: "pod"}}, true},
		"claim":             {&corev1.PersistentVolumeClaim{ObjectMeta: meta}, true},
		"claim of its own":  {&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team-demo", Name: "claim"}}, false},
		"volume":            {&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "object"}}, true},
		"service":           {&corev1.Service{ObjectMeta: meta}, true},
		"policy":            {&networkingv1.NetworkPolicy{ObjectMeta: meta}, true},
		"endpoints":         {&discoveryv1.EndpointSlice{ObjectMeta: meta}, true},
		"budget":            {&policyv1.PodDisruptionBudget{ObjectMeta: meta}, true},
		"ingress":           {&networkingv1.Ingress{ObjectMeta: meta}, true},
		"httproute":         {&gatewayv1.HTTPRoute{ObjectMeta: meta}, true},
		"limits":            {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-provider", Name: "limits"}}, false},
		"limits of another": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "limits"}}, true},
		"namespace":         {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}, false},
	} {
		t.Run("get "+kind, func(t *testing.T) {
			hidden(t, client.IgnoreNotFound(consumer.Get(t.Context(), client.ObjectKeyFromObject(test.object), test.object)), test.hidden)
		})
	}
	for namespace, want := range map[string]bool{metav1.NamespaceSystem: true, "team-demo": false} {
		t.Run("get the log of a pod in "+namespace, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"}}
			hidden(t, client.IgnoreNotFound(consumer.SubResource("log").Get(t.Context(), pod, &corev1.Pod{})), want)
		})
	}
	usage := func(selector map[string]string) error {
		clients, err := kubernetes.NewForConfig(spare(t).accountConfig(v1alpha1.ProviderNamespace, shippedAccount))
		if err != nil {
			t.Fatal(err)
		}
		return clients.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/pods").Param("labelSelector", metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector})).Do(t.Context()).Error()
	}
	t.Run("list what pods use", func(t *testing.T) { // Nobody serves it there: an allowed request gets NotFound.
		hidden(t, client.IgnoreNotFound(usage(own)), false)
		hidden(t, usage(nil), true)
		hidden(t, usage(others), true)
	})
	own32 := metav1.ObjectMeta{Name: "claim-" + strings.Repeat("0a", 16)}
	theirs := metav1.ObjectMeta{Namespace: "team-demo", Name: "object"}
	for what, test := range map[string]struct {
		object client.Object
		hidden bool
	}{
		"secret": {&corev1.Secret{ObjectMeta: meta}, true}, "its secret": {&corev1.Secret{ObjectMeta: theirs}, false},
		"configmap": {&corev1.ConfigMap{ObjectMeta: meta}, true}, "its configmap": {&corev1.ConfigMap{ObjectMeta: theirs}, false},
		"pod": {&corev1.Pod{ObjectMeta: meta}, true}, "its pod": {&corev1.Pod{ObjectMeta: theirs}, false},
		"claim": {&corev1.PersistentVolumeClaim{ObjectMeta: meta}, true}, "its claim": {&corev1.PersistentVolumeClaim{ObjectMeta: theirs}, false},
		"volume": {&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "object"}}, true}, "its volume": {&corev1.PersistentVolume{ObjectMeta: own32}, false},
		"service": {&corev1.Service{ObjectMeta: meta}, true}, "its service": {&corev1.Service{ObjectMeta: theirs}, false},
		"policy": {&networkingv1.NetworkPolicy{ObjectMeta: meta}, true}, "its policy": {&networkingv1.NetworkPolicy{ObjectMeta: theirs}, false},
		"endpoints": {&discoveryv1.EndpointSlice{ObjectMeta: meta}, true}, "its endpoints": {&discoveryv1.EndpointSlice{ObjectMeta: theirs}, false},
		"limits": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "spillway-provider", Name: "limits"}}, true},
	} {
		t.Run("patch "+what, func(t *testing.T) {
			copied := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"copy","from":"/data","path":"/metadata/labels"}]`))
			hidden(t, client.IgnoreNotFound(consumer.Patch(t.Context(), test.object, copied)), test.hidden)
		})
	}
	t.Run("the limits", func(t *testing.T) {
		named, in := client.MatchingFields{"metadata.name": "limits"}, client.InNamespace("spillway-provider")
		hidden(t, consumer.List(t.Context(), &corev1.ConfigMapList{}, named, in), false)
		hidden(t, watching(t.Context(), consumer, &corev1.ConfigMapList{}, named, in), false)
		hidden(t, consumer.List(t.Context(), &corev1.ConfigMapList{}, in), true)
		hidden(t, watching(t.Context(), consumer, &corev1.ConfigMapList{}, named, client.InNamespace("default")), true)
	})
	t.Run("nodes and namespaces", func(t *testing.T) {
		hidden(t, consumer.List(t.Context(), &corev1.NodeList{}), false)
		hidden(t, consumer.List(t.Context(), &corev1.NamespaceList{}), false)
	})
	t.Run("an administrator lists", func(t *testing.T) {
		hidden(t, spare(t).List(t.Context(), &corev1.SecretList{}), false)
	})
}

// hidden checks whether the authorizer refused a request.
func hidden(t *testing.T, err error, want bool) {
	t.Helper()
	if want != apierrors.IsInternalError(err) || (!want && err != nil) {
		t.Errorf("got error %v, want the refusal of an authorizer: %t", err, want)
	}
}

// watching returns the error of starting a watch.
func watching(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	w, err := c.Watch(ctx, list, options...)
	if err == nil {
		w.Stop()
	}
	return err
}
