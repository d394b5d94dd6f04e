//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The names from the manifests of config/.
const (
	systemNamespace        = "spillway-system"
	managerServiceAccount  = "spillway-manager"
	providerNamespace      = "spillway-provider"
	providerServiceAccount = "spillway-consumer"
)

// install creates what is shipped, except the Deployment. The manager runs as a process, because it has no
// image here and the consumer has no node to run it. changes modify each object first.
func (c *testCluster) install(kustomization string, changes ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(kustomized(kustomization)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred(), kustomization)
		if object.GetKind() == "Deployment" {
			continue
		}
		for _, change := range changes {
			change(object)
		}
		Expect(c.Create(ctx, object, client.FieldValidation("Strict"))).To(Succeed(), "%s %s in %s", object.GetKind(), object.GetName(), c.Name())
		if object.GetKind() == "CustomResourceDefinition" {
			c.established(object)
		}
	}
}

func (c *testCluster) established(crd *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err
		}
		conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(condition any) bool {
			fields, ok := condition.(map[string]any)
			return ok && fields["type"] == "Established" && fields["status"] == "True"
		}), err
	}).Should(BeTrue(), "the API server serves %s", crd.GetName())
}

// kustomized returns what make install-yaml writes to dist, from the current files.
func kustomized(kustomization string) []byte {
	GinkgoHelper()
	command := exec.Command("go", "tool", "-modfile=go.tools.mod", "kustomize", "build", kustomization)
	command.Dir = root()
	var problems bytes.Buffer
	command.Stderr = &problems
	manifests, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "building %s: %s", kustomization, &problems)
	return manifests
}
