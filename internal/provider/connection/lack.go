package connection

import "github.com/spillway-io/spillway/api/v1alpha1"

// Lack says why objects of some kind cannot be read in a provider. The zero value: they can.
type Lack struct {
	// Reason is v1alpha1.ReasonRightsMissing or v1alpha1.ReasonKindNotServed.
	Reason string
	// What goes on after "the provider", such as "gives no right to list and watch configmaps".
	What string
}

// NoRight is the lack of rights, such as "list and watch configmaps".
func NoRight(rights string) Lack {
	return Lack{v1alpha1.ReasonRightsMissing, "gives no right to " + rights}
}

// NotServed is the lack of resources, such as "httproutes", in the version that is asked for.
func NotServed(resources string) Lack {
	return Lack{v1alpha1.ReasonKindNotServed, "does not serve " + resources + " in the version that is needed"}
}
