package admission

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestNothingStandsInTheWay takes away what the policy needs. Pods must be
// created all the same, in offloaded namespaces and elsewhere.
func TestNothingStandsInTheWay(t *testing.T) {
	var first client.Client
	env, err := startServer(&first)
	if env != nil {
		t.Cleanup(func() { stop(t, env) }) // after the servers that share its data
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(t.Context(), first, podsPolicy); err != nil {
		t.Fatal(err)
	}
	defer func(shared client.Client) { server = shared }(server)
	server = first
	namespaces := []string{
		offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote}),
		offloaded(t, nil),
	}

	// An API server that has only just started does not know at once what a
	// NamespaceOffloading is.
	create(t, secondServer(t, env), namespaces)

	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.SetName("namespaceoffloadings." + v1alpha1.GroupVersion.Group)
	if err := first.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	settled(t, namespaces[0], false)
	create(t, first, namespaces)
	// One that starts now never gets to know.
	create(t, secondServer(t, env), namespaces)
}

// create creates pods for three seconds.
func create(t *testing.T, c client.Client, namespaces []string) {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, namespace := range namespaces {
			if err := c.Create(t.Context(), newPod(namespace), client.DryRunAll); err != nil {
				t.Fatalf("the pod was refused: %v", err)
			}
		}
	}
}

// secondServer starts another API server on the data of a first one.
func secondServer(t *testing.T, first *envtest.Environment) client.Client {
	t.Helper()
	// Not a whole environment: that would start an etcd of its own.
	plane := envtest.ControlPlane{APIServer: &envtest.APIServer{
		EtcdURL: first.ControlPlane.Etcd.URL,
		Path:    filepath.Join(first.BinaryAssetsDirectory, "kube-apiserver"),
		// As long as the first one had.
		StartTimeout: first.ControlPlaneStartTimeout,
		StopTimeout:  first.ControlPlaneStopTimeout,
	}}
	if err := plane.APIServer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.APIServer.Stop(); err != nil {
			t.Errorf("stopping an API server: %v", err)
		}
	})
	user, err := plane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, &rest.Config{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(user.Config(), client.Options{Scheme: server.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBrokenExpression has the policy fail on every pod.
func TestBrokenExpression(t *testing.T) {
	var c client.Client
	env, err := startServer(&c)
	if env != nil {
		defer stop(t, env)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = apply(t.Context(), c, podsPolicy, func(object *unstructured.Unstructured) {
		variables, found, err := unstructured.NestedSlice(object.Object, "spec", "variables")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			return
		}
		variables[0].(map[string]any)["expression"] = "params.spec.there.is.no.such.field"
		if err := unstructured.SetNestedSlice(object.Object, variables, "spec", "variables"); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	offloading := &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: v1alpha1.OffloadingName},
	}
	if err := c.Create(t.Context(), offloading); err != nil {
		t.Fatal(err)
	}
	create(t, c, []string{metav1.NamespaceDefault})
}

// another is a policy of somebody else's. It replaces the affinity of pods,
// once, and may be evaluated before ours or after it.
func another(namespace string) []client.Object {
	always := admissionregistrationv1.Fail
	return []client.Object{
		&admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "another"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				FailurePolicy:      &always,
				ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
				MatchConstraints: &admissionregistrationv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
					},
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionregistrationv1.RuleWithOperations{
							Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
							Rule: admissionregistrationv1.Rule{
								APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
							},
						},
					}},
				},
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType: admissionregistrationv1.PatchTypeJSONPatch,
					JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[
						JSONPatch{op: "add", path: "/metadata/annotations", value: {"another": "was-here"}},
						JSONPatch{op: "add", path: "/spec/affinity", value: {"nodeAffinity": {
							"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
								{"matchExpressions": [{"key": dyn("arch"), "operator": dyn("In"), "values": dyn(["amd64"])}]}]}}}}]`},
				}},
			},
		},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "another"},
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "another"},
		},
	}
}

// TestOtherPolicies has another policy undo what ours did.
func TestOtherPolicies(t *testing.T) {
	namespace := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	for _, object := range another(namespace) {
		if err := server.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		defer remove(t, object)
	}
	pod := newPod(namespace)
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			pod = newPod(namespace)
			err := server.Create(ctx, pod, client.DryRunAll)
			return pod.Annotations["another"] != "", err
		})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(required(labels(amd, virtual)), pod.Spec.Affinity); diff != "" {
		t.Errorf("affinity (-want +got):\n%s", diff)
	}
}

func remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := server.Delete(context.WithoutCancel(t.Context()), object); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

// TestTurnedOff starts an API server as one before Kubernetes 1.36 is, as far
// as we can see: without MutatingAdmissionPolicy as v1. The plugin has to be
// turned off as well, or else it waits for the kind, and the API server never
// becomes ready.
func TestTurnedOff(t *testing.T) {
	var c client.Client
	env, err := startServer(&c, func(env *envtest.Environment) {
		env.ControlPlane.GetAPIServer().Configure().
			Append("runtime-config", "admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false").
			Append("disable-admission-plugins", "MutatingAdmissionPolicy")
	})
	if env != nil {
		defer stop(t, env)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(t.Context(), c, podsPolicy); !meta.IsNoMatchError(err) {
		t.Errorf("applying the policy: %v, want that there is no such kind", err)
	}
	if err := c.Create(t.Context(), newPod(metav1.NamespaceDefault)); err != nil {
		t.Error(err)
	}
}
