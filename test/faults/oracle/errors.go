package oracle

import "errors"

// ErrGap is the error of a run in which a watch broke.
var ErrGap = errors.New("a watch of the ledger was broken, so not all that happened is known")
