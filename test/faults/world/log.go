package world

import (
	"bytes"
	"sync"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logBytes is how much is kept of what the managers of a run log.
const logBytes = 1 << 20

// recovered is what controller-runtime says in the error of a pass that has panicked.
const recovered = "[recovered]"

// Log is the end of what the managers of a run have logged.
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

// Panicked reports whether a pass of a manager ever has.
func (l *Log) Panicked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.panicked
}

// String is all that is kept.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// logger writes to it, with what only developers want to know.
func (l *Log) logger() logr.Logger {
	return zap.New(zap.WriteTo(l), zap.Level(zapcore.DebugLevel))
}
