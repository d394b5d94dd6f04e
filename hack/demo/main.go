// Command demo shows Spillway on this machine, without Docker: a consumer cluster and the providers eu and
// us, the manager, two bindings, and two offloaded namespaces.
//
//	go run ./hack/demo up           start the demo, or repair it (make demo)
//	go run ./hack/demo story spill  show how pods spill over and come back (make demo STORY=spill)
//	go run ./hack/demo down         stop it and remove it (make demo-down)
//	go run ./hack/demo kill NAME    kill the API server of a cluster
//	go run ./hack/demo start NAME   start it again
//
// The control planes are real (package test/clusters), and the nodes are kwok's. The manager runs as a
// process of this machine and not as a pod, because kwok runs no containers. It has the identity, and so the
// rights, that install.yaml gives it; in the providers it has the rights of provider.yaml. Everything is in
// bin/demo, and stays after this command ends.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = "usage: go run ./hack/demo up | story spill | down | kill NAME | start NAME   (NAME: consumer, eu, us)"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("what to do?\n%s", usage)
	}
	d, err := newDemo()
	if err != nil {
		return err
	}
	switch {
	case args[0] == "up" && len(args) == 1:
		if err := d.up(ctx); err != nil {
			return fmt.Errorf("%w\n\n%s", err, d.whereToLook())
		}
		return nil
	case args[0] == "story" && len(args) == 2:
		return d.story(ctx, args[1])
	case args[0] == "down" && len(args) == 1:
		return d.down(ctx)
	case args[0] == "kill" && len(args) == 2:
		return d.kill(ctx, args[1])
	case args[0] == "start" && len(args) == 2:
		return d.start(ctx, args[1])
	}
	return fmt.Errorf("unknown arguments %q\n%s", args, usage)
}
