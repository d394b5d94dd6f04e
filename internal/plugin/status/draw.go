package status

import (
	"fmt"
	"strings"
)

// branch is a line with others below it. They are drawn at the end, because the last one looks different.
type branch struct {
	to    *strings.Builder
	text  string
	below []*branch
}

func line(to *strings.Builder, text string) *branch {
	return &branch{to: to, text: text}
}

func (b *branch) add(text string) *branch {
	one := &branch{text: text}
	b.below = append(b.below, one)
	return one
}

func (b *branch) end() {
	fmt.Fprintln(b.to, b.text)
	b.draw(b.to, "")
}

func (b *branch) draw(to *strings.Builder, indent string) {
	for i, one := range b.below {
		mark, more := "├─ ", "│  "
		if i == len(b.below)-1 {
			mark, more = "└─ ", "   "
		}
		fmt.Fprintln(to, indent+mark+one.text)
		one.draw(to, indent+more)
	}
}
