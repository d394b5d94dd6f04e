package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// kernelSettings are settings that the kubelet requires. It would change them for the whole machine; in the
// box it reads that they already have these values.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// furnish mounts what the programs need to see. Nothing of it is visible outside.
func furnish(dir string) error {
	// First separate from the machine's mounts, then shared within the box, as a kubelet expects.
	for _, propagation := range []uintptr{syscall.MS_PRIVATE, syscall.MS_SHARED} {
		if err := mount("", "/", "", syscall.MS_REC|propagation); err != nil {
			return err
		}
	}
	if err := mount("proc", "/proc", "proc", 0); err != nil {
		return err
	}
	for _, directory := range hidden {
		if err := mount("tmpfs", directory, "tmpfs", 0); err != nil {
			return err
		}
	}
	for name, value := range kernelSettings {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := mount(file, filepath.Join("/proc/sys", name), "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

// connect creates the node's interfaces, and allows it to forward packets from pods to Services.
func connect(links [][]string) error {
	if err := ip(context.Background(), links...); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o600)
}

func mount(source, target, kind string, flags uintptr) error {
	if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	return nil
}
