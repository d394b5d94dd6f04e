package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// containerStatuses returns the statuses of the containers in the local spec, in its order. It returns
// no other names, and none twice.
func containerStatuses(containers []corev1.Container, local, remote []corev1.ContainerStatus, mayRestart restarts, now metav1.Time) []corev1.ContainerStatus {
	if len(local) == 0 && len(remote) == 0 {
		return nil
	}
	all := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		c := &containers[i]
		was, is := statusOf(local, c.Name), statusOf(remote, c.Name)
		if is == nil || was != nil && isTakenBack(was, is) && !mayRestart(c, was.State.Terminated.ExitCode) {
			if was != nil {
				all = append(all, *was)
			}
			continue
		}
		all = append(all, containerStatus(was, is, &c.Resources, now))
	}
	return all
}

// ephemeralStatuses is containerStatuses for ephemeral containers, which never restart.
func ephemeralStatuses(containers []corev1.EphemeralContainer, local, remote []corev1.ContainerStatus, now metav1.Time) []corev1.ContainerStatus {
	if len(local) == 0 && len(remote) == 0 {
		return nil
	}
	never := func(*corev1.Container, int32) bool { return false }
	all := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		common := (*corev1.Container)(&containers[i].EphemeralContainerCommon)
		one := []corev1.Container{*common}
		all = append(all, containerStatuses(one, local, remote, never, now)...)
	}
	return all
}

// isTakenBack reports whether the new state would revert the end of a container.
func isTakenBack(was, is *corev1.ContainerStatus) bool {
	return was.State.Terminated != nil && is.State.Terminated == nil
}

// restarts reports whether a container may run again after it has ended. If it may not, the API server
// refuses a status in which it runs again.
type restarts func(c *corev1.Container, exitCode int32) bool

func restartRules(spec *corev1.PodSpec) restarts {
	if restartsAll(spec.InitContainers) || restartsAll(spec.Containers) {
		return func(*corev1.Container, int32) bool { return true }
	}
	return func(c *corev1.Container, exitCode int32) bool {
		policy := string(spec.RestartPolicy)
		if c.RestartPolicy != nil {
			if slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return matches(r, exitCode) }) {
				return true
			}
			policy = string(*c.RestartPolicy)
		}
		switch policy {
		case string(corev1.RestartPolicyNever):
			return false
		case string(corev1.RestartPolicyOnFailure):
			return exitCode != 0
		default:
			return true
		}
	}
}

// restartsAll reports whether one container may restart all of them.
func restartsAll(containers []corev1.Container) bool {
	for i := range containers {
		for _, rule := range containers[i].RestartPolicyRules {
			if rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
	}
	return false
}

func matches(rule corev1.ContainerRestartRule, exitCode int32) bool {
	if rule.Action != corev1.ContainerRestartRuleActionRestart || rule.ExitCodes == nil {
		return false
	}
	in := slices.Contains(rule.ExitCodes.Values, exitCode)
	switch rule.ExitCodes.Operator {
	case corev1.ContainerRestartRuleOnExitCodesOpIn:
		return in
	case corev1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !in
	}
	return false
}

// containerStatus copies the known fields of a status, and bounds them. It leaves out users, mounts,
// device health and the stop signal. was is the local status so far, or nil.
func containerStatus(was, from *corev1.ContainerStatus, spec *corev1.ResourceRequirements, now metav1.Time) corev1.ContainerStatus {
	past := runsOf(was, from)
	return corev1.ContainerStatus{
		Name:                 from.Name,
		State:                containerState(from, &past, now),
		LastTerminationState: corev1.ContainerState{Terminated: terminated(from.LastTerminationState.Terminated, &past, past.last, now)},
		Ready:                from.Ready,
		RestartCount:         max(from.RestartCount, 0),
		Image:                field.Bounded(from.Image, maxImage),
		ImageID:              field.Bounded(from.ImageID, maxImage),
		ContainerID:          field.Bounded(from.ContainerID, maxImage),
		Started:              from.Started,
		AllocatedResources:   resourceList(from.AllocatedResources, spec),
		Resources:            resourceRequirements(from.Resources, spec),
	}
}

// containerState keeps one state. If remote claims several, it keeps the latest in the life cycle.
func containerState(status *corev1.ContainerStatus, past *runs, now metav1.Time) corev1.ContainerState {
	switch from := &status.State; {
	case from.Terminated != nil:
		return corev1.ContainerState{Terminated: terminated(from.Terminated, past, past.current, now)}
	case from.Running != nil:
		running := from.Running
		if started := field.ReportedTime(running.StartedAt, past.of(field.Bounded(status.ContainerID, maxImage), past.current).started, now); started != running.StartedAt {
			running = &corev1.ContainerStateRunning{StartedAt: started}
		}
		return corev1.ContainerState{Running: running}
	case from.Waiting != nil:
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason:  field.Bounded(from.Waiting.Reason, field.MaxReason),
			Message: field.BoundedLines(from.Waiting.Message, field.MaxMessage),
		}}
	}
	return corev1.ContainerState{}
}

// terminated returns how a run of a container ended, or nil. same is the run at the same place in past.
func terminated(from *corev1.ContainerStateTerminated, past *runs, same run, now metav1.Time) *corev1.ContainerStateTerminated {
	if from == nil {
		return nil
	}
	id := field.Bounded(from.ContainerID, maxImage)
	was := past.of(id, same)
	return &corev1.ContainerStateTerminated{
		ExitCode:    from.ExitCode,
		Signal:      from.Signal,
		Reason:      field.Bounded(from.Reason, field.MaxReason),
		Message:     field.BoundedLines(from.Message, maxTermination),
		StartedAt:   field.ReportedTime(from.StartedAt, was.started, now),
		FinishedAt:  field.ReportedTime(from.FinishedAt, was.finished, now),
		ContainerID: id,
	}
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	return field.First(statuses, func(s *corev1.ContainerStatus) bool { return s.Name == name })
}
