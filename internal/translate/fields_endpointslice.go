package translate

import discoveryv1 "k8s.io/api/discovery/v1"

const namesOfConsumer = "it names something of the consumer, and the provider may have another one of that name"

var endpointSliceFields = decisions{
	"TypeMeta":    drop("typed clients fill it in"),
	"ObjectMeta":  change("see Metadata"),
	"AddressType": send(),
	"Endpoints":   change("see endpointFields"),
	"Ports":       change("see endpointPortFields"),
}

var endpointFields = decisions{
	"Addresses":          change("those that the provider allows, in order; without any the endpoint is left out"),
	"DeprecatedTopology": drop("it cannot be written, and names nodes and zones of the consumer"),
	"Hints":              drop("it names zones and nodes of the consumer, from which nobody there sends"),
}.and(send(), "Conditions", "Hostname").
	and(drop(namesOfConsumer), "TargetRef", "NodeName", "Zone")

var endpointConditionsFields = decisions{}.and(send(), "Ready", "Serving", "Terminating")

var endpointPortFields = decisions{}.and(send(), "Name", "Protocol", "Port", "AppProtocol")

var (
	endpointSlicePlan      = planFor[discoveryv1.EndpointSlice](endpointSliceFields)
	endpointPlan           = planFor[discoveryv1.Endpoint](endpointFields)
	endpointConditionsPlan = planFor[discoveryv1.EndpointConditions](endpointConditionsFields)
	endpointPortPlan       = planFor[discoveryv1.EndpointPort](endpointPortFields)
)
