package performance

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration { return cpuTimeOf(syscall.RUSAGE_SELF) }

// cpuTimeOf returns the CPU time of this process, or of its children that have ended.
func cpuTimeOf(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
