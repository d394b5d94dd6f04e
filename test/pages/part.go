package pages

import (
	"bytes"
	"fmt"
	"os"
)

// Update writes the text of a part of a document, such as "namespaces", between its marks. The marks name the
// command that writes it. Update fails if there are none.
func Update(file, part, command, text string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin := fmt.Appendf(nil, "<!-- begin: %s. Written by UPDATE_DOCS=1 %s. -->\n", part, command)
	end := fmt.Appendf(nil, "<!-- end: %s -->\n", part)
	before, rest, found := bytes.Cut(document, begin)
	_, after, ended := bytes.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no marks to put the part %q of %q between", file, part, command)
	}
	return os.WriteFile(file, bytes.Join([][]byte{before, begin, []byte(text), end, after}, nil), 0o600)
}
