package performance

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used up.
func cpuTime() time.Duration { return cpuTimeOf(syscall.RUSAGE_SELF) }

// cpuTimeOf is what this process has used up, or its children that have ended.
func cpuTimeOf(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
