// Command overlay writes the product with the seeded bugs into a folder, for the build of the fault harness.
// Run it in the folder of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/spillway-io/spillway/test/faults/seeded"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: overlay FOLDER")
		os.Exit(2)
	}
	if _, err := seeded.Overlay(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
