package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// AddYes adds the flag --yes, for commands that ask.
func AddYes(flags *pflag.FlagSet, yes *bool) {
	flags.BoolVarP(yes, "yes", "y", false, "do not ask on a terminal; without a terminal it never asks")
}

// Asker returns a function that asks on a terminal; nil if there is no terminal, or if never is set.
func (f *Factory) Asker(never bool) func(question string) bool {
	in, ok := f.In.(*os.File)
	if never || !ok || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	return func(question string) bool {
		_, _ = fmt.Fprint(f.ErrOut, question)
		answer, _ := bufio.NewReader(in).ReadString('\n')
		return strings.TrimSpace(answer) == "yes"
	}
}
