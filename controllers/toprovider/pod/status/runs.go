package status

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// run is when a run of a container began and ended. Times that have not come are zero.
type run struct {
	id                string // The ID of the container. Not all providers report it.
	started, finished metav1.Time
}

// runs are the current and the previous run of a container, as they were last reported.
type runs struct {
	current, last run
	restarted     bool // Whether the container restarted since then.
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

// of returns the run of the container with that ID, or an empty run. same is the run at the same place
// in the status. It is also the result if there are no IDs and no restart.
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
