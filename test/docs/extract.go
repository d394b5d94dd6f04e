// Package docs runs the commands of the documentation, so that they stay right.
//
// They run in their order, in one shell for each page, against one API server
// that is consumer and provider at once, with what is shipped installed. There
// is no manager: what waits for one is played, and deletions are dry runs, since
// nobody would finish them. So it is seen that each command is one, with its
// flags, and that the API server takes what it sends; what comes of it is for
// the integration and end-to-end tests.
package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// command is what a reader types.
type command struct {
	page string
	line int
	text string // Several lines if it has a document in it.
}

func (c command) String() string { return fmt.Sprintf("%s:%d: %s", c.page, c.line, c.text) }

var (
	program   = regexp.MustCompile(`^(\$ )?(kubectl|make|docker|hack/|bin/|go|curl|export) ?`)
	inline    = regexp.MustCompile("`(kubectl [^` ]+ [^`]+)`") // With a verb alone, it is talked about.
	heredoc   = regexp.MustCompile(`<<'([A-Z]+)'`)
	codeBlock = "    "
)

// commandsOf are the commands of a page: those of the indented blocks that begin
// with one and, if inlines is set, those within the text. Where a block shows
// output as well, commands begin with "$ ".
func commandsOf(page, text string, inlines bool) []command {
	var all []command
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], codeBlock) {
			for _, match := range inline.FindAllStringSubmatch(lines[i], -1) {
				if inlines {
					all = append(all, command{page, i + 1, match[1]})
				}
			}
			continue
		}
		begin := i
		for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], codeBlock) || lines[i+1] == "" && i+2 < len(lines) && strings.HasPrefix(lines[i+2], codeBlock)) {
			i++
		}
		all = append(all, commandsOfBlock(page, begin, lines[begin:i+1])...)
	}
	return all
}

// commandsOfBlock takes the lines of a block, of which the first is line begin,
// counted from 0.
func commandsOfBlock(page string, begin int, block []string) []command {
	text := make([]string, len(block))
	for i := range block {
		text[i] = strings.TrimPrefix(block[i], codeBlock)
	}
	if !program.MatchString(text[0]) {
		return nil // A manifest, or what something prints.
	}
	shows := strings.HasPrefix(text[0], "$ ")
	var all []command
	for i := 0; i < len(text); i++ {
		if text[i] == "" || shows && !strings.HasPrefix(text[i], "$ ") {
			continue
		}
		first := i
		for strings.HasSuffix(text[i], `\`) {
			i++
		}
		if end := heredoc.FindStringSubmatch(text[i]); end != nil {
			for text[i] != end[1] {
				i++
			}
		}
		all = append(all, command{page, begin + first + 1, strings.TrimPrefix(strings.Join(text[first:i+1], "\n"), "$ ")})
	}
	return all
}
