package dump

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// archive is a tar archive of text files. Whatever is added, no credential of a known form gets into it.
type archive struct {
	zip      *gzip.Writer
	tar      *tar.Writer
	now      time.Time
	files    int
	err      error
	problems []string
}

func newArchive(to io.Writer, now time.Time) *archive {
	zip := gzip.NewWriter(to)
	return &archive{zip: zip, tar: tar.NewWriter(zip), now: now}
}

// add adds a file. After an error, it does nothing; end returns the error.
func (a *archive) add(name, content string) {
	if a.err != nil || content == "" {
		return
	}
	content = withoutCredentials(content)
	a.err = a.tar.WriteHeader(&tar.Header{Name: "spillway-dump/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: a.now})
	if a.err == nil {
		_, a.err = io.WriteString(a.tar, content)
	}
	a.files++
}

// problem notes what could not be read.
func (a *archive) problem(text string) {
	a.problems = append(a.problems, withoutCredentials(text))
}

func (a *archive) end() error {
	if len(a.problems) > 0 {
		a.add("missing.txt", fmt.Sprintf("These could not be read:\n%s\n", strings.Join(a.problems, "\n")))
	}
	return errors.Join(a.err, a.tar.Close(), a.zip.Close())
}
