//go:build faults

package faults

import (
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const gcPercent = 400

// TestMain silences the managers, of which there are thousands, and which are
// made to fail all the time. A connection of the consumer's on which nothing
// comes is asked after two seconds whether it is alive, and given up after five
// more: by default that takes 45 seconds, which is nothing to wait for. Shorter
// would break the connections of the harness itself on a machine that is busy.
// GOGC is for the API servers, which inherit it, and this process: their memory
// is small, and a tenth of the time went into collecting it.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	for variable, value := range map[string]string{
		"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "2", "HTTP2_PING_TIMEOUT_SECONDS": "5",
		"GOGC": strconv.Itoa(gcPercent),
	} {
		if err := os.Setenv(variable, value); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(gcPercent)
	os.Exit(m.Run())
}
