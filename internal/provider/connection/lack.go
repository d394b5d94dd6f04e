package connection

import "github.com/spillway-io/spillway/api/v1alpha1"

// Lack says why objects of a kind cannot be read in a provider. The zero value means that they can.
type Lack struct {
	// Reason is v1alpha1.ReasonRightsMissing or v1alpha1.ReasonKindNotServed.
	Reason string
	// What completes a sentence that begins with "the provider", such as "does not let Spillway list and watch
	// configmaps".
	What string
}

// NoRight returns the Lack of rights, such as "list and watch configmaps".
func NoRight(rights string) Lack {
	return Lack{v1alpha1.ReasonRightsMissing, "does not let Spillway " + rights}
}

// NotServed returns the Lack of resources, such as "httproutes", that the provider does not serve in the needed
// version.
func NotServed(resources string) Lack {
	return Lack{v1alpha1.ReasonKindNotServed, "does not serve " + resources + " in the required version"}
}
