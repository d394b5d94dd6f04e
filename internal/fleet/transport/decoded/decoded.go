// Package decoded tells how much memory an answer takes once it is decoded, while
// it is being read.
//
// How much was sent says little: an empty container is two bytes of Protobuf, and
// some 800 in memory. Whoever counts what was decoded comes too late: a few
// megabytes that are nothing but empty containers have taken gigabytes by then.
//
// A Meter follows the bytes as they come, and keeps none of them. Of Protobuf it
// knows the kinds by their Go types, and so what each field takes. Of JSON it
// knows nothing but brackets and commas, and takes each element of a list for as
// large as the largest there is: no API server answers so for the kinds that are
// read here in numbers.
package decoded

// Meter measures one message: an object or a list of them, or an event of a watch.
type Meter interface {
	// Read looks at the next bytes, and returns how much memory they take once
	// they are decoded. The error is about bytes that cannot be decoded.
	Read(p []byte) (int64, error)
}
