package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Named makes a command say which argument is missing or superfluous, and how to use the command. cobra only
// counts the arguments.
func Named(command *cobra.Command) {
	check := command.Args
	command.Args = func(command *cobra.Command, args []string) error {
		if check(command, args) == nil {
			return nil
		}
		wrong := "takes no argument, and got " + strings.Join(args, " ")
		if words := strings.Fields(command.Use); len(words) > 1 {
			wrong = fmt.Sprintf("takes one %s, and got %s", words[1], strings.Join(args, " "))
			if len(args) == 0 {
				wrong = "needs a " + words[1]
			}
		}
		return fmt.Errorf("%s %s\nusage: %s", command.Name(), wrong, command.UseLine())
	}
}
