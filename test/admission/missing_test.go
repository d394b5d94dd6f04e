package admission

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// offloadingCRD is the file of the kind that the pod policy reads.
const offloadingCRD = "config/crd/bases/offloading.spillway.io_namespaceoffloadings.yaml"

// copying moves the pod policy, its binding and the kind that it reads to another group. So a test can delete
// the kind without affecting others.
func copying(name string) func(*unstructured.Unstructured) {
	const group = "copied.example.com"
	apiVersion := group + "/" + v1alpha1.GroupVersion.Version
	return func(object *unstructured.Unstructured) {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			object.SetName("namespaceoffloadings." + group)
			set(object, group, "spec", "group")
		case "MutatingAdmissionPolicy":
			object.SetName(name)
			set(object, apiVersion, "spec", "paramKind", "apiVersion")
		case "MutatingAdmissionPolicyBinding":
			object.SetName(name)
			set(object, name, "spec", "policyName")
		case "NamespaceOffloading":
			object.SetAPIVersion(apiVersion)
		}
	}
}

// TestNothingStandsInTheWay deletes what a copy of the policy reads. Pods must still be created, in offloaded
// namespaces and elsewhere.
func TestNothingStandsInTheWay(t *testing.T) {
	needsPolicy(t)
	copied, strict := copiedPolicies(t)
	remote, plain := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote}), offloaded(t, nil)
	settled(t, server(t), true, copied, remote, plain)

	kind, err := read(offloadingCRD, copying(""))
	if err != nil {
		t.Fatal(err)
	}
	if err := server(t).Delete(t.Context(), kind[0].DeepCopy()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manifests.Create(context.WithoutCancel(t.Context()), server(t), kind); err != nil {
			t.Error(err)
		}
	})
	settled(t, server(t), false, copied, remote, plain)
	err = eventually(t.Context(), func(ctx context.Context) (bool, error) {
		err := server(t).Get(ctx, client.ObjectKeyFromObject(kind[0]), kind[0].DeepCopy())
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatal(err)
	}

	// An API server that has just started does not know NamespaceOffloading at once, and never knows the kind
	// that the copy reads.
	late, rounds := secondServer(t, server(t).env), 0
	create(t, late, func([]*corev1.Pod) bool {
		if says(late.Create(t.Context(), newPod(strict), client.DryRunAll), "failed to find resource referenced by paramKind") {
			rounds++
		}
		return rounds == 20
	}, copied, remote, plain)
	settled(t, server(t), false, copied, remote, plain)
}

// copiedPolicies creates two copies of the policy, and two namespaces. The effect of the first copy shows in
// pods of the first namespace. The other copy is for the second namespace only, and refuses pods there while
// it does not know its kind.
func copiedPolicies(t *testing.T) (copied, strict string) {
	t.Helper()
	copied, strict = namespaceOf(t, nil), namespaceOf(t, nil)
	objects, err := read(podsPolicy, copying("copied"))
	if err != nil {
		t.Fatal(err)
	}
	failing, err := read(podsPolicy, copying("strict"), func(object *unstructured.Unstructured) {
		if object.GetKind() == "MutatingAdmissionPolicy" {
			set(object, "Fail", "spec", "failurePolicy")
			set(object, strict, "spec", "matchConstraints", "namespaceSelector", "matchLabels", corev1.LabelMetadataName)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	offloading := &unstructured.Unstructured{Object: map[string]any{"kind": "NamespaceOffloading"}}
	copying("")(offloading)
	offloading.SetNamespace(copied)
	offloading.SetName(v1alpha1.OffloadingName)
	set(offloading, string(v1alpha1.PodsRemote), "spec", "podOffloadingStrategy")
	for _, object := range slices.Concat(objects, failing, []*unstructured.Unstructured{offloading}) {
		temporary(t, object)
	}
	return copied, strict
}

// secondServer starts another API server on the data of a first one.
func secondServer(t *testing.T, first *envtest.Environment) client.Client {
	t.Helper()
	// Not a whole environment, because that would start its own etcd.
	plane := envtest.ControlPlane{APIServer: &envtest.APIServer{
		EtcdURL: first.ControlPlane.Etcd.URL,
		Path:    filepath.Join(first.BinaryAssetsDirectory, "kube-apiserver"),
		// The same timeouts as the first one's.
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
	c, err := client.New(user.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
