package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ErrOtherCode is the error of resuming or merging journals from other code or other settings.
var ErrOtherCode = errors.New("it is of other code, or of other settings")

// Journal is a file with one record a line. Each record is written at once, so that an interrupted run can be
// resumed.
type Journal struct {
	Header Header
	path   string
	file   *os.File
	// records are those that the file had when it was opened.
	records []record
	failed  error
}

// notInNames matches what file names should not contain.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// pieceName returns the file name of a shard's journal. If shard is nil, it returns the pattern for all
// shards.
func pieceName(settings string, shard *Shard) string {
	name := strings.Trim(notInNames.ReplaceAllString(settings, "-"), "-")
	if name == "" {
		name = "full"
	}
	if shard == nil {
		return name + ".*-of-*.jsonl"
	}
	return fmt.Sprintf("%s.%d-of-%d.jsonl", name, max(1, shard.K), max(1, shard.N))
}

// Open begins the journal of a shard in dir, or resumes the existing one. If an unfinished journal exists and
// resume is false, Open renames it.
func Open(dir string, h Header, resume bool, log io.Writer) (*Journal, error) {
	j := &Journal{Header: h, path: filepath.Join(dir, pieceName(h.Settings, &h.Shard))}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if !resume {
		if err := j.setAside(log); err != nil {
			return nil, err
		}
		return j, j.create()
	}
	length, err := j.read()
	if err != nil {
		return nil, fmt.Errorf("nothing can be resumed: %w", err)
	}
	if j.Header != h {
		return nil, fmt.Errorf("%s cannot be resumed: %w: %+v, not %+v", j.path, ErrOtherCode, j.Header, h)
	}
	if err := os.Truncate(j.path, length); err != nil {
		return nil, err
	}
	j.file, err = os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0o644)
	return j, err
}

func (j *Journal) create() error {
	var err error
	if j.file, err = os.Create(j.path); err != nil {
		return err
	}
	j.write(record{Header: &j.Header})
	return j.failed
}

// setAside renames an unfinished journal, in case the user forgot to resume it.
func (j *Journal) setAside(log io.Writer) error {
	old := Journal{path: j.path}
	if _, err := old.read(); err != nil || old.Ended() {
		return nil //nolint:nilerr // There is none, or none that can be resumed.
	}
	aside := strings.TrimSuffix(j.path, ".jsonl") + ".unfinished"
	_, err := fmt.Fprintf(log, "WARNING: everything is begun anew. What was begun before is in %s; RESUME=1 goes on with what was broken off.\n", aside)
	return errors.Join(err, os.Rename(j.path, aside))
}

// read reads all records, and returns the length of the complete ones. If the process was killed, the last
// line may be incomplete.
func (j *Journal) read() (int64, error) {
	raw, err := os.ReadFile(j.path)
	if err != nil {
		return 0, err
	}
	whole := bytes.LastIndexByte(raw, '\n') + 1
	for line := range bytes.Lines(raw[:whole]) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return 0, fmt.Errorf("%s: %w", j.path, err)
		}
		j.records = append(j.records, r)
	}
	if len(j.records) == 0 || j.records[0].Header == nil {
		return 0, fmt.Errorf("%s does not say of what it is", j.path)
	}
	j.Header = *j.records[0].Header
	return int64(whole), nil
}

// Ended reports whether everything had been done when the journal was opened.
func (j *Journal) Ended() bool { return len(j.records) > 0 && j.records[len(j.records)-1].Ended }

// Report returns the report of the records that the journal had when it was opened.
func (j *Journal) Report() *Report { return merged([]*Journal{j}) }

// write adds a record. One lane at a time calls it. After an error it writes nothing more: only the last line
// may be incomplete.
func (j *Journal) write(r record) {
	if j == nil || j.failed != nil {
		return
	}
	raw, err := json.Marshal(r)
	if err == nil {
		_, err = j.file.Write(append(raw, '\n'))
	}
	j.failed = err
}

// Close closes the file. It also returns the first error of write.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.failed, j.file.Close())
}
