package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const (
	providerAssigns = "the provider assigns it, out of its own ranges"
	ofBalanced      = "of a Service that is Balanced; of others it is left out"
)

var serviceSpecFields = field.Decisions{
	"Ports":             field.Change("without nodePort, which is a port of the consumer's nodes"),
	"Type":              field.Change("ClusterIP, or LoadBalancer of a Service that is Balanced; an ExternalName is refused"),
	"ClusterIP":         field.Change("None stays None; any other address is the provider's to assign"),
	"IPFamilyPolicy":    field.Drop("which families there are is for the provider's network"),
	"ExternalName":      field.Drop("an ExternalName is refused; others only have a remnant of one"),
	"ExternalIPs":       field.Drop("the provider's nodes would send traffic for these addresses, whoever has them, to the pods (CVE-2020-8554)"),
	"LoadBalancerIP":    field.Drop("an address of the consumer's cloud"),
	"LoadBalancerClass": field.Change("its name in the provider, " + ofBalanced),
	"Selector":          field.Change("with the aliases of labels"),
}.And(field.Send(), "PublishNotReadyAddresses", "SessionAffinity", "SessionAffinityConfig", "InternalTrafficPolicy",
	"TrafficDistribution").
	And(field.Drop(providerAssigns), "ClusterIPs", "IPFamilies", "HealthCheckNodePort").
	And(field.Change(ofBalanced), "LoadBalancerSourceRanges", "AllocateLoadBalancerNodePorts", "ExternalTrafficPolicy")

var servicePortFields = field.Decisions{
	"NodePort": field.Drop("a port of the consumer's nodes"),
}.And(field.Send(), "Name", "Protocol", "AppProtocol", "Port", "TargetPort")

var (
	serviceSpecPlan = field.PlanFor[corev1.ServiceSpec](serviceSpecFields)
	servicePortPlan = field.PlanFor[corev1.ServicePort](servicePortFields)
)
