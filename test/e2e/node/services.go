package node

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// clusterDomain is the one of all names of Services.
const clusterDomain = "cluster.local"

// proxyModes of kube-proxy, the best one first, with commands that succeed where the
// machine has what the mode needs. They change nothing.
var proxyModes = []struct {
	name  string
	probe []string
}{
	{"nftables", []string{"nft", "list", "tables"}},
	{"iptables", []string{"iptables", "--table", "nat", "--list-rules"}},
}

// proxyMode is the first one that works here.
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
	// Pods are neighbours on a bridge. What comes back from one is to pass the node,
	// which knows whom it was for, also where the kernel shows the firewall nothing of
	// what a bridge does.
	masquerade := map[string]any{"masqueradeAll": true}
	return map[string]any{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"clientConnection": map[string]any{"kubeconfig": p.in("admin.kubeconfig")},
		"hostnameOverride": node,
		"mode":             mode,
		"nftables":         masquerade,
		"iptables":         masquerade,
		// These are the whole machine's, which stay as they are.
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0},
	}
}

// corefile is CoreDNS' configuration: there are the names of Services and no other ones.
func corefile(p paths) []byte {
	return []byte(clusterDomain + ` {
    errors
    kubernetes ` + clusterDomain + ` {
        kubeconfig ` + p.in("admin.kubeconfig") + `
    }
}
`)
}
