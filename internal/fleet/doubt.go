package fleet

import "github.com/spillway-io/spillway/api/v1alpha1"

// believed is how many sessions in a row end with a refusal (403) before that is
// told. For some seconds after its start an API server refuses what is allowed: it has
// not read its roles yet. As shipped, a right that is missing is told after six seconds.
const believed = 3

// doubt counts the sessions in a row that have ended with a refusal; of one who
// leaves the provider, and tries no longer once it is told, those with any error.
type doubt struct {
	leaving  bool
	refusals int
}

// about reports whether what has ended a session may be a refusal that is none.
func (d *doubt) about(err error) bool {
	if reason, _ := verdict(err); !d.leaving && reason != v1alpha1.ReasonForbidden && reason != v1alpha1.ReasonLeaseForbidden {
		d.refusals = 0
		return false
	}
	d.refusals = min(d.refusals+1, believed)
	return d.refusals < believed
}

// dispelled notes that a session has outlived a probe. That it has begun is not enough:
// one may be refused each time just after that.
func (d *doubt) dispelled() { d.refusals = 0 }
