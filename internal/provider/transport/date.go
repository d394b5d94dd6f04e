package transport

import (
	"context"
	"net/http"
	"time"
)

// noteDate is the context key of the function that wants the date.
type noteDate struct{}

// WithDate passes note the date of the answer, by the server's clock, as soon as the answer begins. The date is
// zero if it is missing or cannot be read.
func WithDate(ctx context.Context, note func(date time.Time)) context.Context {
	return context.WithValue(ctx, noteDate{}, note)
}

func passDate(req *http.Request, resp *http.Response) {
	if note, ok := req.Context().Value(noteDate{}).(func(time.Time)); ok {
		date, _ := http.ParseTime(resp.Header.Get("Date")) // Zero with an error.
		note(date)
	}
}
