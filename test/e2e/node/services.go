package node

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// clusterDomain is the domain of all Services' names.
const clusterDomain = "cluster.local"

// proxyModes are kube-proxy's modes, the best one first. Each has a command that succeeds where the machine
// supports the mode. The commands change nothing.
var proxyModes = []struct {
	name  string
	probe []string
}{
	{"nftables", []string{"nft", "list", "tables"}},
	{"iptables", []string{"iptables", "--table", "nat", "--list-rules"}},
}

// proxyMode returns the first mode that works here.
func proxyMode() (string, error) {
	var errs []error
	for _, mode := range proxyModes {
		out, err := exec.Command(mode.probe[0], mode.probe[1:]...).CombinedOutput()
		if err == nil {
			return mode.name, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w %s", strings.Join(mode.probe, " "), err, strings.TrimSpace(string(out))))
	}
	return "", errors.Join(errs...)
}

// kubeProxyConfig is a KubeProxyConfiguration.
func kubeProxyConfig(p paths, node, mode string) map[string]any {
	// Pods are neighbours on a bridge. Answers from one must pass through the node, which knows the Service's
	// client, even if the kernel hides bridge traffic from the firewall.
	masquerade := map[string]any{"masqueradeAll": true}
	return map[string]any{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"clientConnection": map[string]any{"kubeconfig": p.in("admin.kubeconfig")},
		"hostnameOverride": node,
		"mode":             mode,
		"nftables":         masquerade,
		"iptables":         masquerade,
		// These belong to the whole machine, and stay unchanged.
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0},
	}
}

// corefile returns CoreDNS' configuration. It resolves only the names of Services.
func corefile(p paths) []byte {
	return []byte(clusterDomain + ` {
    errors
    kubernetes ` + clusterDomain + ` {
        kubeconfig ` + p.in("admin.kubeconfig") + `
    }
}
`)
}
