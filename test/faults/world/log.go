package world

import (
	"sync"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logBytes is how much is kept of what the managers of a run log.
const logBytes = 1 << 20

// Log is the end of what the managers of a run have logged.
type Log struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if len(l.text) > 2*logBytes {
		l.text = append([]byte(nil), l.text[len(l.text)-logBytes:]...)
	}
	return len(p), nil
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
