package translate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// run is when a run of a container began and ended, as far as it has.
type run struct {
	id                string // That of the container; not all providers say it.
	started, finished metav1.Time
}

// runs are the current run of a container and the one before, as they were reported last.
type runs struct {
	current, last run
	restarted     bool // Since then.
}

func runsOf(was, is *corev1.ContainerStatus) runs {
	if was == nil {
		return runs{}
	}
	return runs{
		current: runOf(&was.State, was.ContainerID), last: runOf(&was.LastTerminationState, ""),
		restarted: was.RestartCount != max(is.RestartCount, 0),
	}
}

func runOf(state *corev1.ContainerState, id string) run {
	switch {
	case state.Terminated != nil:
		return run{state.Terminated.ContainerID, state.Terminated.StartedAt, state.Terminated.FinishedAt}
	case state.Running != nil:
		return run{id: id, started: state.Running.StartedAt}
	}
	return run{}
}

// of is the run of the container with that ID, or an empty one. same is the one at its place: it
// is the one, too, if there are no IDs and no restart.
func (r *runs) of(id string, same run) run {
	switch {
	case id == same.id && (id != "" || !r.restarted):
		return same
	case id == "":
	case id == r.current.id:
		return r.current
	case id == r.last.id:
		return r.last
	}
	return run{}
}
