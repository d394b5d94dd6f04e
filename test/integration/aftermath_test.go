package integration

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// nothingIsLeft waits until everything that the specs created is deleted, in all clusters.
func nothingIsLeft() {
	GinkgoHelper()
	for _, consumer := range []*controlPlane{home, other} {
		for _, list := range []client.ObjectList{
			&v1alpha1.ClusterBindingList{}, &v1alpha1.NamespaceMapList{}, &v1alpha1.NamespaceOffloadingList{},
		} {
			Eventually(consumer.list(list)).Should(BeEmpty(), "%T left in consumer %s", list, consumer.Name)
		}
		Eventually(consumer.list(&corev1.NodeList{}, client.MatchingLabels{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual})).
			Should(BeEmpty(), "virtual nodes left in consumer %s", consumer.Name)
		Eventually(consumer.list(&coordinationv1.LeaseList{}, client.InNamespace(corev1.NamespaceNodeLease))).
			Should(BeEmpty(), "leases of nodes left in consumer %s", consumer.Name)
	}
	for _, provider := range []*controlPlane{eu, us} {
		Eventually(provider.list(&corev1.NamespaceList{}, client.HasLabels{v1alpha1.LabelManagedBy})).
			Should(BeEmpty(), "namespaces left in provider %s", provider.Name)
	}
}

// list reads the names of the listed objects.
func (c *controlPlane) list(list client.ObjectList, options ...client.ListOption) func() ([]string, error) {
	return func() ([]string, error) {
		if err := c.List(ctx, list, options...); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(list)
		names := []string{}
		for _, item := range items {
			if object, ok := item.(client.Object); ok {
				names = append(names, client.ObjectKeyFromObject(object).String())
			}
		}
		return names, err
	}
}

// noCredentialIsShown looks for the credentials in everything that the managers wrote in the consumer or
// logged.
func noCredentialIsShown(secrets ...string) {
	GinkgoHelper()
	Expect(secrets).NotTo(BeEmpty())
	places := map[string]string{"the log": output.text()}
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterBindingList{}, &v1alpha1.NamespaceMapList{}, &v1alpha1.NamespaceOffloadingList{},
		&eventsv1.EventList{}, &corev1.NodeList{}, &corev1.PodList{}, &coordinationv1.LeaseList{},
	} {
		Expect(home.List(ctx, list)).To(Succeed())
		text, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		places[fmt.Sprintf("%T", list)] = string(text)
	}
	for place, text := range places {
		Expect(text).NotTo(BeEmpty(), place)
		for _, secret := range secrets {
			// Not by a matcher: it would print the credential.
			Expect(strings.Contains(text, secret)).To(BeFalse(), "a credential in %s", place)
		}
	}
}
