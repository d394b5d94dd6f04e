package world

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// echoWithin is how long a command may take to send something back.
const echoWithin = 30 * time.Second

// Command is a command in a container of a pod of the consumer, run through the consumer's API server.
type Command struct {
	conn   net.Conn
	reader *bufio.Reader
}

// Run runs a command in a pod. The API server and the kubelet forward its bytes unchanged. A run has one
// command at a time, which ends with the run.
func (w *World) Run(ctx context.Context, namespace, pod string) error {
	w.EndCommand()
	config := w.Consumer.Config()
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	secure.NextProtos = nil
	conn, err := (&tls.Dialer{Config: secure}).DialContext(ctx, "tcp", strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		return err
	}
	command := &Command{conn: conn, reader: bufio.NewReader(conn)}
	if err := command.begin(ctx, config.Host+"/api/v1/namespaces/"+namespace+"/pods/"+pod+"/exec?command=echo&stdout=true"); err != nil {
		_ = conn.Close()
		return fmt.Errorf("running a command in pod %s/%s: %w", namespace, pod, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.command = command
	return nil
}

func (c *Command) begin(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "SPDY/3.1")
	if err := errors.Join(c.conn.SetDeadline(time.Now().Add(echoWithin)), req.Write(c.conn)); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.reader, req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	_ = resp.Body.Close()
	return fmt.Errorf("%s: %s", resp.Status, body)
}

// Echo returns an error if the run's command does not echo its input.
func (w *World) Echo() error {
	c, err := w.running()
	if err != nil {
		return err
	}
	const line = "hello\n"
	if err := c.conn.SetDeadline(time.Now().Add(echoWithin)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.conn, line); err != nil {
		return err
	}
	got, err := c.reader.ReadString('\n')
	if err == nil && got != line {
		err = fmt.Errorf("got back %q", got)
	}
	return err
}

// Ended returns an error if the run's command has not ended.
func (w *World) Ended() error {
	c, err := w.running()
	if err != nil {
		return err
	}
	if err := c.conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	switch _, err := c.reader.ReadByte(); {
	case err == nil:
		return errors.New("the command still says something")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the command still runs")
	}
	return nil
}

// EndCommand ends the command of the run, if there is one.
func (w *World) EndCommand() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.command != nil {
		_ = w.command.conn.Close()
	}
	w.command = nil
}

func (w *World) running() (*Command, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.command == nil {
		return nil, errors.New("no command runs")
	}
	return w.command, nil
}

// Ports are below the clusters' ports and the kernel's ephemeral ports.
const firstPort, ports = 5000, 5000

// tried is how many ports have been tried, starting at a random one. A port that is free now may belong to a
// lane whose manager is down at the moment.
var (
	tried      atomic.Int64
	firstTried = rand.Int64N(ports) //nolint:gosec // Any port will do.
)

// Move makes the next manager serve the kubelet API at another port, as another replica does.
func (w *World) Move() error {
	for range ports {
		port := firstPort + int((firstTried+tried.Add(1))%ports)
		listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		w.mu.Lock()
		w.port = port
		w.mu.Unlock()
		return listener.Close()
	}
	return errors.New("no port is free for the kubelet API")
}
