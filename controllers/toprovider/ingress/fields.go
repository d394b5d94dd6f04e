package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/field"
)

var ingressSpecFields = field.Decisions{
	"IngressClassName": field.Change("the provider's name of the class; without one an Ingress is not sent"),
	"DefaultBackend":   field.Change("sent as it is; a backend that is not a Service is refused"),
	"TLS":              field.Send(),
	"Rules":            field.Change("sent as they are; a path whose backend is not a Service is refused"),
}

var ingressBackendFields = field.Decisions{
	"Service":  field.Send(),
	"Resource": field.Deny(ReasonResourceBackend, "the provider may not have the object that it names; only Services are sent"),
}

// All other types are sent whole.
var (
	ingressTLSFields = field.Decisions{
		"Hosts":      field.Send(),
		"SecretName": field.Send(),
	}
	ingressRuleFields = field.Decisions{
		"Host":             field.Send(),
		"IngressRuleValue": field.Send(),
	}
	ingressRuleValueFields = field.Decisions{
		"HTTP": field.Send(),
	}
	httpIngressRuleValueFields = field.Decisions{
		"Paths": field.Send(),
	}
	httpIngressPathFields = field.Decisions{
		"Path":     field.Send(),
		"PathType": field.Send(),
		"Backend":  field.Send(),
	}
	ingressServiceBackendFields = field.Decisions{
		"Name": field.Send(),
		"Port": field.Send(),
	}
	serviceBackendPortFields = field.Decisions{
		"Name":   field.Send(),
		"Number": field.Send(),
	}
)

var (
	ingressSpecPlan    = field.PlanFor[networkingv1.IngressSpec](ingressSpecFields)
	ingressBackendPlan = field.PlanFor[networkingv1.IngressBackend](ingressBackendFields)
)
