// Package scheme has the Go types of everything that Spillway sends to providers.
package scheme

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// AddToScheme adds the kinds of Kubernetes and of the Gateway API.
func AddToScheme(s *runtime.Scheme) error {
	return errors.Join(clientgoscheme.AddToScheme(s), gatewayv1.Install(s))
}

// Scheme has the kinds that AddToScheme adds. Nobody may change it.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(AddToScheme(s))
	return s
}()
