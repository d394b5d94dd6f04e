package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// packages are the Debian packages that are needed; hack/node/packages.sh installs them.
const packages = "containerd, runc, containernetworking-plugins, busybox-static, iproute2 and nftables"

// programs must be in PATH.
var programs = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"}

// plugins of the container network interface, and the directories where distributions put them.
var (
	plugins           = []string{"bridge", "host-local", "loopback"}
	pluginDirectories = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}
)

// busyboxes are the paths where distributions put busybox. The package busybox-static links it statically.
var busyboxes = []string{"/bin/busybox", "/usr/bin/busybox"}

// Supported returns why no node can run here, or nil.
func Supported() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a real kubelet needs Linux, and this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("a real kubelet needs root: it makes namespaces, mounts, a bridge and cgroups")
	}
	var missing []string
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if _, err := pluginDirectory(); err != nil {
		missing = append(missing, err.Error())
	}
	if _, err := Busybox(); err != nil {
		missing = append(missing, "busybox")
	}
	if len(missing) > 0 {
		return fmt.Errorf("not installed: %s; hack/node/packages.sh installs Debian's packages %s",
			strings.Join(missing, ", "), packages)
	}
	if _, err := proxyMode(); err != nil {
		return fmt.Errorf("kube-proxy needs nftables or iptables: %w", err)
	}
	return nil
}

// Busybox returns the path of a busybox for an image.
func Busybox() (string, error) { return firstOf(busyboxes) }

func pluginDirectory() (string, error) {
	for _, directory := range pluginDirectories {
		complete := true
		for _, plugin := range plugins {
			_, err := os.Stat(filepath.Join(directory, plugin))
			complete = complete && err == nil
		}
		if complete {
			return directory, nil
		}
	}
	return "", fmt.Errorf("the CNI plugins %s", strings.Join(plugins, ", "))
}

func firstOf(paths []string) (string, error) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("none of %s exists", strings.Join(paths, ", "))
}
