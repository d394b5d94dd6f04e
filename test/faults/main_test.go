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

// TestMain silences the managers: there are thousands, and the test makes them fail all the time. It sets a
// ping after two silent seconds on the consumer's connections, and a timeout of five more. By default these
// take 45 seconds, which is too long to wait for. Shorter values would break the harness's own connections on
// a busy machine. GOGC is for this process and the API servers, which inherit it. Their memory is small, and
// a tenth of the time went into garbage collection.
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
