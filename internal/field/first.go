package field

// First returns the first element for which is returns true, or nil.
func First[E any](all []E, is func(*E) bool) *E {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}
