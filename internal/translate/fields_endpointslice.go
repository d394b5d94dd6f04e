package translate

import discoveryv1 "k8s.io/api/discovery/v1"

const namesOfConsumer = "it names something of the consumer, and the provider may have another one of that name"

var endpointFields = decisions{
	"Addresses":  change("those that the provider allows, in order; without any the endpoint is left out"),
	"Conditions": send(),
	"Hostname":   send(),

	"TargetRef":          drop(namesOfConsumer),
	"DeprecatedTopology": drop("it cannot be written, and names nodes and zones of the consumer"),
	"NodeName":           drop(namesOfConsumer),
	"Zone":               drop(namesOfConsumer),
	"Hints":              drop("it names zones and nodes of the consumer, from which nobody there sends"),
}

var endpointConditionsFields = decisions{
	"Ready":       send(),
	"Serving":     send(),
	"Terminating": send(),
}

var endpointPortFields = decisions{
	"Name":        send(),
	"Protocol":    send(),
	"Port":        send(),
	"AppProtocol": send(),
}

var (
	endpointPlan           = planFor[discoveryv1.Endpoint](endpointFields)
	endpointConditionsPlan = planFor[discoveryv1.EndpointConditions](endpointConditionsFields)
	endpointPortPlan       = planFor[discoveryv1.EndpointPort](endpointPortFields)
)
