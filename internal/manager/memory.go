package manager

import (
	"runtime/debug"
	"strconv"
)

// MemoryLimit is the environment variable with the container's memory limit, in bytes.
const MemoryLimit = "MEMORY_LIMIT"

// LimitMemory makes the garbage collector work harder before the kernel kills the container. It keeps a
// tenth of the container's limit free. Go's limit excludes memory such as the program's own pages, and
// Go may exceed it for a moment. GOMEMLIMIT, if set, takes precedence.
func LimitMemory(getenv func(string) string) {
	if limit := memoryLimit(getenv(MemoryLimit), getenv("GOMEMLIMIT")); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit returns the limit for Go, or zero to leave it unchanged.
func memoryLimit(container, set string) int64 {
	const of, kept = 10, 9
	limit, err := strconv.ParseInt(container, 10, 64)
	if err != nil || limit <= 0 || set != "" {
		return 0
	}
	return limit / of * kept
}
