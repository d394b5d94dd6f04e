package translate

import corev1 "k8s.io/api/core/v1"

const (
	providerAssigns = "the provider assigns it, out of its own ranges"
	ofBalanced      = "of a Service that is Balanced; of others it is left out"
)

var serviceSpecFields = decisions{
	"Ports":             change("see servicePortFields"),
	"Type":              change("ClusterIP, or LoadBalancer of a Service that is Balanced; an ExternalName is refused, see Service"),
	"ClusterIP":         change("None stays None; any other address is the provider's to assign"),
	"IPFamilyPolicy":    drop("which families there are is for the provider's network"),
	"ExternalName":      drop("an ExternalName is refused; others only have a remnant of one"),
	"ExternalIPs":       drop("the provider's nodes would send traffic for these addresses, whoever has them, to the pods (CVE-2020-8554)"),
	"LoadBalancerIP":    drop("an address of the consumer's cloud"),
	"LoadBalancerClass": change("its name in the provider, " + ofBalanced),
}.and(send(), "Selector", "PublishNotReadyAddresses", "SessionAffinity", "SessionAffinityConfig", "InternalTrafficPolicy",
	"TrafficDistribution").
	and(drop(providerAssigns), "ClusterIPs", "IPFamilies", "HealthCheckNodePort").
	and(change(ofBalanced), "LoadBalancerSourceRanges", "AllocateLoadBalancerNodePorts", "ExternalTrafficPolicy")

var servicePortFields = decisions{
	"NodePort": drop("a port of the consumer's nodes"),
}.and(send(), "Name", "Protocol", "AppProtocol", "Port", "TargetPort")

var (
	serviceSpecPlan = planFor[corev1.ServiceSpec](serviceSpecFields)
	servicePortPlan = planFor[corev1.ServicePort](servicePortFields)
)
