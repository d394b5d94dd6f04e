// Command demo-hosted shows hosted clusters on this machine, without a cloud. It starts an API server, and
// EKS, AKS and GKE as package hosted/test imitates them on the wire. It also starts bin/hosted, which cannot
// tell that the clouds are not real. The demo imports three clusters, changes them on both sides, and brings
// them in sync. A second API server is behind the cluster in EKS; the demo binds it as a provider of
// bin/manager.
//
//	go run ./hosted/demo          tell the story, and end (make demo-hosted)
//	go run ./hosted/demo -stay    tell it, and stay until Ctrl-C
//
// When this command has ended, only its files in bin/demo-hosted are left.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stay := flag.Bool("stay", false, "stay until Ctrl-C, for a look by hand")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second Ctrl-C ends it at once.
	err := run(ctx, *stay)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo-hosted: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stay bool) (err error) {
	d, err := newDemo()
	if err != nil {
		return err
	}
	defer func() {
		interrupted := ctx.Err() != nil
		if interrupted {
			fmt.Println("\nInterrupted: stopping everything")
			err = nil // What was under way has failed for this reason.
		}
		if ended := d.end(); err == nil {
			err = ended
		}
		if interrupted && err == nil {
			fmt.Printf("Everything is stopped. What remains are the logs and files in %[1]s; to remove them: rm -r %[1]s\n", d.relative(d.dir))
		}
	}()
	for _, step := range []func(context.Context) error{
		d.startClouds, d.startAPIServer, d.startCluster, d.install, d.startPrograms, d.story,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w\nThe logs are in %s", err, d.relative(d.dir))
		}
	}
	if stay {
		d.howToGoOn()
		<-ctx.Done()
	}
	return nil
}
