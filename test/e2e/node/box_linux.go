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

// namespaces are the namespaces of the box. With the first the kernel ends its processes, and with the others
// its mounts, interfaces and firewall.
func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
}

// Main runs the node in the process that Start created for it, and then does not return. In other processes
// it does nothing. Programs that call Start must call Main first.
func Main() {
	file := os.Getenv(boxEnv)
	if file == "" {
		return
	}
	// Process 1 ends last: the kernel then ends everything that is left.
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
	// The test holds the other end. It closes it, or the kernel does when the test has ended in any way.
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

// runPrograms returns when one of the programs has ended unexpectedly.
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

// listening waits until the socket exists. It fails if the program that should create it ends.
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
