package cli

import "fmt"

// Exit is the error of a command that has done its work, and has an answer in its exit code. Nothing is printed.
type Exit int

// Error implements error.
func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
