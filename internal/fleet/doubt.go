package fleet

import "github.com/spillway-io/spillway/api/v1alpha1"

// believed is how many sessions in a row must end with a refusal (403) before it is
// reported. For some seconds after its start an API server refuses what is allowed,
// because it has not read its roles. As shipped, a missing right is reported after six
// seconds.
const believed = 3

// doubt counts the sessions in a row that ended with a refusal; when leaving, which stops
// trying once a failure is reported, those with any error.
type doubt struct {
	leaving  bool
	refusals int
}

// about reports whether the error that ended a session may be a passing refusal.
func (d *doubt) about(err error) bool {
	if reason, _ := verdict(err); !d.leaving && reason != v1alpha1.ReasonForbidden && reason != v1alpha1.ReasonLeaseForbidden {
		d.refusals = 0
		return false
	}
	d.refusals = min(d.refusals+1, believed)
	return d.refusals < believed
}

// dispelled notes that a session has outlived a probe. Having begun is not enough: each
// session may be refused just after that.
func (d *doubt) dispelled() { d.refusals = 0 }
