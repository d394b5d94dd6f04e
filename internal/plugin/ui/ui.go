// Package ui is kubectl spillway ui: a page on this machine that shows what runs where, live. It reads as the user of
// the kubeconfig, and so shows no more than that user may read.
//
//	sources.go  the watches: observe
//	view        objects in, what is shown out: pure
//	live.go     one set of watches for all pages of the process
//	server.go   HTTP: who may ask, and the pages
package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

type options struct {
	port int
	open bool
}

// Command returns the command ui.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "ui",
		Short: "Show what runs where in a browser, live",
		Long: `Serves a page on this machine, at 127.0.0.1, until Ctrl-C. It shows the providers, their namespaces and pods, each wait and
its reason, the pods over time, and the fields of hosted clusters that differ. It changes nothing, except for conflicts
of hosted clusters that you resolve there.

Every request to the cluster is made as you. What you may not read is not shown, and a line names the right that you
lack. -n shows one namespace only. The printed URL works once: the page that opens it gets a key, which
ends with the command.`,
		Example: `  kubectl spillway ui
  kubectl spillway ui -n team-a --port 8080`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), f) },
	}
	command.Flags().IntVar(&o.port, "port", 0, "the port at 127.0.0.1 (default a free one)")
	command.Flags().BoolVar(&o.open, "open", false, "open the page in your browser; other users of this machine can see the URL, and use it first")
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory) error {
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	if served, err := consumer.Serves(v1alpha1.GroupVersion.WithKind("NamespaceOffloading")); err != nil {
		return err
	} else if !served {
		return fmt.Errorf("Spillway is not installed in %s: run kubectl spillway install", consumer.Name)
	}
	namespace := ptr.Deref(f.Namespace, "")
	if err := status.Known(ctx, consumer, namespace); err != nil {
		return err
	}
	own, _, err := f.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("--port %d: %w", o.port, err)
	}
	watched := newLive(scope{consumer: consumer, where: f.Where(consumer), namespace: namespace, own: own})
	s, err := newServer(ctx, listener.Addr().String(), watched)
	if err != nil {
		return err
	}
	url := s.url()
	if _, err := fmt.Fprintf(f.Out, "%s\nIt works once, on this machine. Ctrl-C ends it.\n", url); err != nil {
		return err
	}
	if o.open {
		if err := browse(ctx, url); err != nil {
			_, _ = fmt.Fprintf(f.ErrOut, "warning: no browser was opened: %v\n", err)
		}
	}
	return s.serve(ctx, listener)
}

// serve serves until ctx ends, and then waits for decisions that are being written.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	const patience = 30 * time.Second
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: patience, IdleTimeout: 2 * patience, MaxHeaderBytes: 1 << 14}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving at %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	// The streams end with ctx.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := web.Shutdown(limited)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// browse opens a URL in the browser of the user.
func browse(ctx context.Context, url string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	// The browser outlives this command.
	opener := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], url)...) //nolint:gosec // The URL is our own.
	if err := opener.Start(); err != nil {
		return err
	}
	go func() { _ = opener.Wait() }() // Some return only when the browser ends.
	return nil
}
