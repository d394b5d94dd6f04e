package field

import (
	"encoding/json"
	"maps"
	"slices"
)

// Group is what the provider's nodes behind one virtual node have in common: the values of some labels. A key without
// a value is of a label that these nodes lack. An empty Group is of all nodes.
type Group map[string]*string

// String returns the group as JSON, with sorted keys. ParseGroup reads it.
func (g Group) String() string {
	encoded, err := json.Marshal(map[string]*string(g))
	if err != nil || len(g) == 0 { // It cannot fail, because it has only strings.
		return ""
	}
	return string(encoded)
}

// ParseGroup reads what String has returned. It reports whether the text is that of a group.
func ParseGroup(text string) (Group, bool) {
	var g Group
	if text == "" {
		return nil, true
	}
	err := json.Unmarshal([]byte(text), &g)
	return g, err == nil
}

// Keys returns the keys, sorted.
func (g Group) Keys() []string { return slices.Sorted(maps.Keys(g)) }

// Holds reports whether labels are those of a node of the group.
func (g Group) Holds(labels map[string]string) bool {
	for key, wanted := range g {
		if value, has := labels[key]; has != (wanted != nil) || has && value != *wanted {
			return false
		}
	}
	return true
}
