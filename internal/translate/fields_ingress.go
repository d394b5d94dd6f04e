package translate

import networkingv1 "k8s.io/api/networking/v1"

var ingressSpecFields = decisions{
	"IngressClassName": change("the provider's name of the class; without one an Ingress is not sent"),
	"DefaultBackend":   change("see ingressBackendFields"),
	"TLS":              send(),
	"Rules":            change("see ingressBackendFields, of the paths"),
}

var ingressBackendFields = decisions{
	"Service":  send(),
	"Resource": refuse(ReasonResourceBackend, "the provider may not have the object that it names; only Services are sent"),
}

// All other types are sent whole.
var (
	ingressTLSFields = decisions{
		"Hosts":      send(),
		"SecretName": send(),
	}
	ingressRuleFields = decisions{
		"Host":             send(),
		"IngressRuleValue": send(),
	}
	ingressRuleValueFields = decisions{
		"HTTP": send(),
	}
	httpIngressRuleValueFields = decisions{
		"Paths": send(),
	}
	httpIngressPathFields = decisions{
		"Path":     send(),
		"PathType": send(),
		"Backend":  send(),
	}
	ingressServiceBackendFields = decisions{
		"Name": send(),
		"Port": send(),
	}
	serviceBackendPortFields = decisions{
		"Name":   send(),
		"Number": send(),
	}
)

var (
	ingressSpecPlan    = planFor[networkingv1.IngressSpec](ingressSpecFields)
	ingressBackendPlan = planFor[networkingv1.IngressBackend](ingressBackendFields)
)
