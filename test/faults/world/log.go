package world

import (
	"bytes"
	"sync"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logBytes is how much of the managers' logs of a run is kept.
const logBytes = 1 << 20

// recovered is in the error that controller-runtime logs for a reconcile that panicked.
const recovered = "[recovered]"

// Log keeps the end of what the managers of a run log.
type Log struct {
	mu       sync.Mutex
	text     []byte
	panicked bool
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.panicked = l.panicked || bytes.Contains(p, []byte(recovered))
	if len(l.text) > 2*logBytes {
		l.text = append([]byte(nil), l.text[len(l.text)-logBytes:]...)
	}
	return len(p), nil
}

// Panicked reports whether any reconcile has panicked.
func (l *Log) Panicked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.panicked
}

// String returns what is kept.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// logger returns a logger that writes to the Log, with debug messages.
func (l *Log) logger() logr.Logger {
	return zap.New(zap.WriteTo(l), zap.Level(zapcore.DebugLevel))
}
