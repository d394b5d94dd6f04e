// Package docs runs the commands of the documentation, so that they stay right.
//
// The commands of each page run in order, in one shell. All pages use one API server, which is consumer and
// provider at once, and has everything installed that is shipped. There is no manager. The test plays what a
// command would wait for, and deletions are dry runs, because nobody would finish them. This shows that each
// command and its flags exist, and that the API server accepts what it sends. The integration and end-to-end
// tests check the results.
package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// command is a command that a reader types.
type command struct {
	page string
	line int
	text string // Several lines if the command contains a document.
}

func (c command) String() string { return fmt.Sprintf("%s:%d: %s", c.page, c.line, c.text) }

var (
	program   = regexp.MustCompile(`^(\$ )?(kubectl|make|docker|hack/|bin/|go|curl|export) ?`)
	inline    = regexp.MustCompile("`(kubectl [^` ]+ [^`]+)`") // If there is only a verb, the text is about the command.
	heredoc   = regexp.MustCompile(`<<'([A-Z]+)'`)
	codeBlock = "    "
)

// commandsOf returns the commands of a page. It takes each indented block that begins with a command and, if
// inlines is set, the commands within the text. In a block that also shows output, commands begin with "$ ".
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

// commandsOfBlock returns the commands of a block. Its first line is line begin of the page, counted from 0.
func commandsOfBlock(page string, begin int, block []string) []command {
	indent := block[0][:len(block[0])-len(strings.TrimLeft(block[0], " "))] // Of a block in a list, more than codeBlock.
	text := make([]string, len(block))
	for i := range block {
		text[i] = strings.TrimPrefix(block[i], indent)
	}
	if !program.MatchString(text[0]) {
		return nil // A manifest, or the output of a program.
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
