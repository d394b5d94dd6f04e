// kubectl-spillway is the plugin that adds the command spillway to kubectl.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/plugin"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(run())
}

func run() int {
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second Ctrl-C ends the program at once.
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	command := plugin.Command(version, streams)
	var answer cli.Exit
	if err := command.ExecuteContext(ctx); errors.As(err, &answer) {
		return int(answer)
	} else if err != nil {
		_, _ = fmt.Fprintln(command.ErrOrStderr(), "error:", err)
		return 1
	}
	return 0
}
