package endpointslice

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const namesOfConsumer = "it names something of the consumer, and the provider may have another one of that name"

var endpointSliceFields = field.Decisions{
	"TypeMeta":    field.Drop("typed clients fill it in"),
	"ObjectMeta":  field.Change(field.OfMetadata),
	"AddressType": field.Send(),
	"Endpoints":   field.Change("those with an address that the provider allows, without names of the consumer's objects, nodes and zones"),
	"Ports":       field.Change("field by field, all of them as they are"),
}

var endpointFields = field.Decisions{
	"Addresses":          field.Change("those that the provider allows, in order; without any the endpoint is left out"),
	"DeprecatedTopology": field.Drop("it cannot be written, and names nodes and zones of the consumer"),
	"Hints":              field.Drop("it names zones and nodes of the consumer, from which nobody there sends"),
}.And(field.Send(), "Conditions", "Hostname").
	And(field.Drop(namesOfConsumer), "TargetRef", "NodeName", "Zone")

var endpointConditionsFields = field.Decisions{}.And(field.Send(), "Ready", "Serving", "Terminating")

var endpointPortFields = field.Decisions{}.And(field.Send(), "Name", "Protocol", "Port", "AppProtocol")

var (
	endpointSlicePlan      = field.PlanFor[discoveryv1.EndpointSlice](endpointSliceFields)
	endpointPlan           = field.PlanFor[discoveryv1.Endpoint](endpointFields)
	endpointConditionsPlan = field.PlanFor[discoveryv1.EndpointConditions](endpointConditionsFields)
	endpointPortPlan       = field.PlanFor[discoveryv1.EndpointPort](endpointPortFields)
)
