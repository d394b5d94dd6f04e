package translate

import (
	"reflect"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// inPolicy is a subject that is somewhere in a NetworkPolicy.
func inPolicy[T any](fields decisions, where func(*networkingv1.NetworkPolicySpec) *T) subject {
	return subject{reflect.TypeFor[T](), fields, func(t *testing.T, set func(reflect.Value)) (reflect.Value, *Refusal) {
		local := policyOf(t, `
podSelector: {}
ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 1}]}]
egress: [{to: [{podSelector: {}}]}]`)
		set(reflect.ValueOf(where(&local.Spec)).Elem())
		remote, _, refusal := NetworkPolicy(local, mapped, generous, func() []PeerNamespace { return peers })
		if refusal != nil {
			return reflect.Value{}, refusal
		}
		return reflect.ValueOf(where(&remote.Spec)).Elem(), nil
	}}
}
