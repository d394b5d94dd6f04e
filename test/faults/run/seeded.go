package run

import "context"

func (e *Engine) seeded(context.Context) error { return nil }
