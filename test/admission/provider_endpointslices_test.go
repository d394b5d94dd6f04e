package admission

import (
	"maps"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	notInRange    = "endpoints[].addresses must be in the ranges that endpointCIDRs"
	notOurManager = "metadata.labels[endpointslice.kubernetes.io/managed-by] must be syncer.spillway.io, before and after an update"
)

// sliceOf lists addresses for a Service.
func sliceOf(meta metav1.ObjectMeta, of discoveryv1.AddressType, addresses ...string) *discoveryv1.EndpointSlice {
	meta.Labels = maps.Clone(meta.Labels)
	meta.Labels[discoveryv1.LabelServiceName], meta.Labels[discoveryv1.LabelManagedBy] = "web", "syncer.spillway.io"
	slice := &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: of}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return slice
}

// TestConsumerEndpointSlices: a consumer's Service leads only to addresses that the administrator has listed.
// As shipped, it leads to nothing outside of its namespace.
func TestConsumerEndpointSlices(t *testing.T) {
	limits := changing(t)
	consumer := limits.consumer
	meta := metav1.ObjectMeta{Namespace: namespaceIn(t, spare(t), held(mark())), Name: "web", Labels: mark()}
	slice := func(of discoveryv1.AddressType, addresses ...string) *discoveryv1.EndpointSlice {
		return sliceOf(meta, of, addresses...)
	}
	data := maps.Clone(limits.shipped.Data)
	becomes(t, consumer, slice("IPv4", "10.1.0.1"), notInRange)
	becomes(t, consumer, slice("IPv4"), "")
	data["endpointCIDRs"] = "10.1.0.0/16, fd00:1::/48"
	limits.become(t, data)
	becomes(t, consumer, slice("IPv4", "10.1.0.1"), "")
	for name, test := range map[string]struct {
		slice *discoveryv1.EndpointSlice
		want  string
	}{
		"of the other family": {slice("IPv6", "fd00:1::1"), ""},
		"outside":             {slice("IPv4", "10.2.0.1"), notInRange},
		"one of them outside": {slice("IPv4", "10.1.0.1", "10.2.0.1"), notInRange},
		"outside, IPv6":       {slice("IPv6", "fd00:2::1"), notInRange},
		"a name":              {slice("FQDN", "db.example.com"), notInRange},
		"of another manager": {func() *discoveryv1.EndpointSlice {
			s := slice("IPv4", "10.1.0.1")
			s.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
			return s
		}(), notOurManager},
		"of nobody": {func() *discoveryv1.EndpointSlice {
			s := slice("IPv4", "10.1.0.1")
			delete(s.Labels, discoveryv1.LabelManagedBy)
			return s
		}(), notOurManager},
		"with a command": {func() *discoveryv1.EndpointSlice {
			s := slice("IPv4", "10.1.0.1")
			s.Labels["service.kubernetes.io/service-proxy-name"] = "theirs"
			return s
		}(), "metadataKeys of ConfigMap spillway-provider/limits"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), test.slice, client.DryRunAll), test.want)
		})
	}
	second := slice("IPv4", "10.1.0.1", "10.1.0.2")
	second.Endpoints[0].Addresses = append(second.Endpoints[0].Addresses, "10.2.0.1")
	refused(t, consumer.Create(t.Context(), second, client.DryRunAll), notInRange)

	theirs := sliceOf(metav1.ObjectMeta{Namespace: namespaceIn(t, spare(t), nil), Name: "web", Labels: map[string]string{}}, "IPv4", "10.9.0.1")
	temporaryIn(t, spare(t), theirs)
	refused(t, consumer.Delete(t.Context(), theirs.DeepCopy(), client.DryRunAll), "the namespace lacks the labels of Spillway")
}

// TestConsumerChangesEndpointSlices: an EndpointSlice with other addresses, such as after a change of the
// limits, may only be emptied or deleted.
func TestConsumerChangesEndpointSlices(t *testing.T) {
	consumer := inProvider(t)
	there := made(t, sliceOf(metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "web", Labels: mark()}, "IPv4", "10.1.0.1"))
	for name, test := range map[string]struct{ patch, want string }{
		"an annotation":   {`{"metadata":{"annotations":{"a":"b"}}}`, notInRange},
		"another address": {`{"endpoints":[{"addresses":["10.1.0.2"]}]}`, notInRange},
		"another manager": {`{"endpoints":null,"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":null}}}`, notOurManager},
		"to close it":     {`{"endpoints":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Patch(t.Context(), there.DeepCopy(), merge(test.patch), client.DryRunAll), test.want)
		})
	}
	refused(t, consumer.Delete(t.Context(), there.DeepCopy()), "")

	// The provider's controllers copy the labels of the Service to what they create.
	theirs := sliceOf(metav1.ObjectMeta{Namespace: there.Namespace, Name: "theirs", Labels: mark()}, "IPv4", "10.1.0.1")
	theirs.Labels[discoveryv1.LabelManagedBy] = "controller.example.com"
	theirs = made(t, theirs)
	taken := `{"endpoints":null,"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":"syncer.spillway.io"}}}`
	refused(t, consumer.Patch(t.Context(), theirs.DeepCopy(), merge(taken), client.DryRunAll), notOurManager)
	refused(t, consumer.Delete(t.Context(), theirs.DeepCopy(), client.DryRunAll), notOurManager)
	annotated := `{"endpoints":null,"metadata":{"annotations":{"spillway.io/local-uid":"1"},"labels":{"endpointslice.kubernetes.io/managed-by":"syncer.spillway.io"}}}`
	refused(t, consumer.Patch(t.Context(), theirs.DeepCopy(), merge(annotated), client.DryRunAll), notOurManager)

	// A copy whose label somebody has changed.
	lost := sliceOf(metav1.ObjectMeta{Namespace: there.Namespace, Name: "lost", Labels: mark(),
		Annotations: map[string]string{v1alpha1.AnnotationLocalUID: "1"}}, "IPv4", "10.1.0.1")
	lost.Labels[discoveryv1.LabelManagedBy] = "controller.example.com"
	lost = made(t, lost)
	refused(t, consumer.Patch(t.Context(), lost.DeepCopy(), merge(`{"endpoints":null}`), client.DryRunAll), notOurManager)
	refused(t, consumer.Patch(t.Context(), lost.DeepCopy(), merge(taken), client.DryRunAll), "")
	refused(t, consumer.Delete(t.Context(), lost.DeepCopy(), client.DryRunAll), "")
}
