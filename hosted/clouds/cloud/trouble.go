package cloud

import "strings"

// Trouble is something that is in a bad state, and that the cloud is not working on.
type Trouble struct {
	// Item is the path of the pool; empty for the cluster.
	Item string
	// Message says what is wrong, in the cloud's words.
	Message string
}

// NewTrouble describes something that is in a bad state, with what the cloud says about it.
func NewTrouble(item, what, state string, why ...string) Trouble {
	text := what + " is " + state
	for i, part := range why {
		if part = strings.TrimSpace(part); part != "" {
			text += map[bool]string{true: ": ", false: ", "}[i == 0] + part
		}
	}
	return Trouble{item, text}
}

// Unhealthy returns the messages of all troubles.
func (r Reading) Unhealthy() string {
	var parts []string
	for _, trouble := range r.Troubles {
		parts = append(parts, trouble.Message)
	}
	return strings.Join(parts, "; ")
}

// Troubled returns the paths of the pools in trouble.
func (r Reading) Troubled() []string {
	var items []string
	for _, trouble := range r.Troubles {
		if trouble.Item != "" {
			items = append(items, trouble.Item)
		}
	}
	return items
}
