package transport

import "context"

// paged is the context key of lists whose pages nobody collects.
type paged struct{}

// WithPages returns a context for the pages of a list of which the caller keeps little. Each page is limited like an
// answer about one object, and not the list as a whole. One that is too large is an error of the request alone, and does
// not end the connection.
func WithPages(ctx context.Context) context.Context { return context.WithValue(ctx, paged{}, true) }

// inPages reports whether a request is for a page of such a list.
func inPages(ctx context.Context) bool { return ctx.Value(paged{}) != nil }
