package manager

import (
	"runtime/debug"
	"strconv"
)

// MemoryLimit is the environment variable that says how much memory the container
// may take, in bytes.
const MemoryLimit = "MEMORY_LIMIT"

// LimitMemory has the garbage collector work harder before the container is killed.
// It leaves a tenth of what the container may take: Go's limit leaves out what is
// not Go's, such as the pages of the program itself, and may be overstepped for a
// moment. GOMEMLIMIT, if it is set, says it instead.
func LimitMemory(getenv func(string) string) {
	if limit := memoryLimit(getenv(MemoryLimit), getenv("GOMEMLIMIT")); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is Go's limit, or zero to leave it as it is.
func memoryLimit(container, set string) int64 {
	const of, kept = 10, 9
	limit, err := strconv.ParseInt(container, 10, 64)
	if err != nil || limit <= 0 || set != "" {
		return 0
	}
	return limit / of * kept
}
