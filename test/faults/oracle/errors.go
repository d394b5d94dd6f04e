package oracle

import "errors"

// ErrGap is the error of a run during which a watch was broken.
var ErrGap = errors.New("a watch of the ledger was broken, so not all that happened is known")
