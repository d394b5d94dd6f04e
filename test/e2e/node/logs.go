package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// logTails quotes the ends of the logs, and says where the files are.
func (n *Node) logTails() string {
	text := ""
	for _, name := range []string{"node.log", "images.log", "containerd.log", "kubelet.log", "kube-proxy.log", "coredns.log",
		"csi-driver.log", "csi-provisioner.log", "csi-resizer.log"} {
		file := filepath.Join(n.Logs, name)
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it was not started yet
		}
		text += fmt.Sprintf("the end of %s:\n%s\n", file, lastLines(string(raw)))
	}
	return text
}

// lastLines returns a few shortened lines: containerd and the kubelet write lines of many thousand characters
// when they start.
func lastLines(text string) string {
	const count, width = 6, 400
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-count):]
	for i, line := range lines {
		lines[i] = "    " + line[:min(len(line), width)]
	}
	return strings.Join(lines, "\n")
}
