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

// ErrOtherCode is what one gets who goes on with, or merges, what was done with
// other code or other settings.
var ErrOtherCode = errors.New("it is of other code, or of other settings")

// Journal is the file in which each record stands as soon as it is made, one to
// a line, so that whoever is broken off can be taken up.
type Journal struct {
	Header Header
	path   string
	file   *os.File
	// records are those that were there when it was opened.
	records []record
	failed  error
}

// notInNames is what settings have, and file names should not.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// pieceName is the name of the file of a shard, and the pattern of those of all
// shards if the shard is nil.
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

// Open begins the journal of a shard in dir, or goes on with the one that is
// there. What was begun is set aside when another one begins in its place.
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

// setAside keeps an unfinished journal from being overwritten by whoever has
// forgotten to resume it.
func (j *Journal) setAside(log io.Writer) error {
	old := Journal{path: j.path}
	if _, err := old.read(); err != nil || old.Ended() {
		return nil //nolint:nilerr // There is none, or none that anybody could go on with.
	}
	aside := strings.TrimSuffix(j.path, ".jsonl") + ".unfinished"
	_, err := fmt.Fprintf(log, "WARNING: everything is begun anew. What was begun before is in %s; RESUME=1 goes on with what was broken off.\n", aside)
	return errors.Join(err, os.Rename(j.path, aside))
}

// read reads all records, and returns up to where they are whole: of what was
// killed the last line may be broken off.
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

// Ended reports whether all that was asked for had been done when it was opened.
func (j *Journal) Ended() bool { return len(j.records) > 0 && j.records[len(j.records)-1].Ended }

// Report is what the records that were there come to.
func (j *Journal) Report() *Report { return merged([]*Journal{j}) }

// write adds a record. It is called by one lane at a time. After an error it
// writes nothing more: a line that is not whole has to be the last.
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

// Close returns the first error of any write, too.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.failed, j.file.Close())
}
