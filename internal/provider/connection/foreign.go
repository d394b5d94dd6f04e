package connection

import "github.com/spillway-io/spillway/internal/decide/spill"

// Foreign is what pods in a provider request that are not this consumer's. A nil one is not known yet. Nobody changes
// it.
type Foreign struct {
	// Used has what they request together on each node, by its name, and how many they are.
	Used map[string]spill.Size
	// Unknown says why nothing is known. Then Used is empty.
	Unknown string
}

// On returns what they request on a node.
func (f *Foreign) On(node string) spill.Size {
	if f == nil {
		return nil
	}
	return f.Used[node]
}

// WhyUnknown returns why nothing is known, or "".
func (f *Foreign) WhyUnknown() string {
	if f == nil {
		return ""
	}
	return f.Unknown
}
