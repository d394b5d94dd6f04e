package connection

import "github.com/spillway-io/spillway/api/v1alpha1"

// Unreadable says why objects of a kind cannot be read in a provider. The zero value means that they can.
type Unreadable struct {
	// Reason is v1alpha1.ReasonRightsMissing or v1alpha1.ReasonKindNotServed.
	Reason string
	// What completes a sentence that begins with "the provider", such as "does not let Spillway list and watch
	// configmaps".
	What string
}

// RightMissing says that rights are missing, such as "list and watch configmaps".
func RightMissing(rights string) Unreadable {
	return Unreadable{v1alpha1.ReasonRightsMissing, "does not let Spillway " + rights}
}

// NotServed says that the provider does not serve resources, such as "httproutes", in the needed version.
func NotServed(resources string) Unreadable {
	return Unreadable{v1alpha1.ReasonKindNotServed, "does not serve " + resources + " in the required version"}
}
