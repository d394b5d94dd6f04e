package cloud

import "strings"

// Trouble describes something that is in a bad state, with what the cloud says about it.
func Trouble(what, state string, why ...string) string {
	text := what + " is " + state
	for i, part := range why {
		if part = strings.TrimSpace(part); part != "" {
			text += map[bool]string{true: ": ", false: ", "}[i == 0] + part
		}
	}
	return text
}
