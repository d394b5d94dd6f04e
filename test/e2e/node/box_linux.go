package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// namespaces of the box: with the first of them its processes end, and with the others
// its mounts, its interfaces and its firewall.
func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
}

// Main is to be called first of all by programs that call Start. In the process
// that Start has made for the node it runs the node, and does not return;
// elsewhere it does nothing.
func Main() {
	file := os.Getenv(boxEnv)
	if file == "" {
		return
	}
	// Process 1 is the last to end: with it, the kernel ends what is left.
	if err := runBox(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runBox(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s settings
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if _, err := io.ReadFull(os.Stdin, make([]byte, len(goOn))); err != nil {
		return err
	}
	// The test holds the other end. It closes it, or the kernel does when the
	// test is gone, however it went.
	closed := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		closed <- err
	}()
	failed := make(chan error, 1)
	go func() { failed <- runPrograms(s) }()
	select {
	case err := <-failed:
		return err
	case err := <-closed:
		return err
	}
}

// runPrograms returns when one of the programs has ended that should not.
func runPrograms(s settings) error {
	if err := furnish(s.Dir); err != nil {
		return err
	}
	if err := connect(s.Links); err != nil {
		return err
	}
	r := newReaper()
	containerd, err := r.start(s.Containerd, filepath.Join(s.Logs, "containerd.log"))
	if err != nil {
		return err
	}
	if err := listening(s.Socket, containerd); err != nil {
		return err
	}
	for _, command := range s.Imports {
		importer, err := r.start(command, filepath.Join(s.Logs, "images.log"))
		if err != nil {
			return err
		}
		if status := <-importer; status.ExitStatus() != 0 {
			return fmt.Errorf("%v: %s; see images.log", command, describe(status))
		}
	}
	ended := make(chan error, 1+len(s.Programs))
	go func() { ended <- fmt.Errorf("containerd has ended: %s", describe(<-containerd)) }()
	for name, command := range s.Programs {
		program, err := r.start(command, filepath.Join(s.Logs, name+".log"))
		if err != nil {
			return err
		}
		go func() { ended <- fmt.Errorf("%s has ended: %s", name, describe(<-program)) }()
	}
	return <-ended
}

// listening waits until there is a socket, for as long as the program lives that
// is to make it.
func listening(socket string, program <-chan syscall.WaitStatus) error {
	const interval = 50 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		select {
		case status := <-program:
			return fmt.Errorf("containerd has ended: %s", describe(status))
		case <-ticker.C:
		}
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "by signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
