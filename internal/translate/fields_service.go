package translate

import corev1 "k8s.io/api/core/v1"

const (
	providerAssigns = "the provider assigns it, out of its own ranges"
	forNodePorts    = "it is for ports of nodes and for load balancers, which are not sent"
)

var serviceSpecFields = decisions{
	"Ports":                    change("see servicePortFields"),
	"Selector":                 send(),
	"PublishNotReadyAddresses": send(),
	"SessionAffinity":          send(),
	"SessionAffinityConfig":    send(),
	"InternalTrafficPolicy":    send(),
	"TrafficDistribution":      send(),
	"Type":                     change("always ClusterIP; an ExternalName is refused, see Service"),
	"ClusterIP":                change("None stays None; any other address is the provider's to assign"),

	"ClusterIPs":                    drop(providerAssigns),
	"IPFamilies":                    drop(providerAssigns),
	"IPFamilyPolicy":                drop("which families there are is for the provider's network"),
	"ExternalName":                  drop("an ExternalName is refused; others only have a remnant of one"),
	"ExternalIPs":                   drop("the provider's nodes would send traffic for these addresses, whoever has them, to the pods (CVE-2020-8554)"),
	"LoadBalancerIP":                drop(forNodePorts),
	"LoadBalancerSourceRanges":      drop(forNodePorts),
	"LoadBalancerClass":             drop(forNodePorts),
	"AllocateLoadBalancerNodePorts": drop(forNodePorts),
	"ExternalTrafficPolicy":         drop(forNodePorts),
	"HealthCheckNodePort":           drop(forNodePorts),
}

var servicePortFields = decisions{
	"Name":        send(),
	"Protocol":    send(),
	"AppProtocol": send(),
	"Port":        send(),
	"TargetPort":  send(),

	"NodePort": drop("a port of the consumer's nodes"),
}

var (
	serviceSpecPlan = planFor[corev1.ServiceSpec](serviceSpecFields)
	servicePortPlan = planFor[corev1.ServicePort](servicePortFields)
)
