package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// settings are what the process in the box needs.
type settings struct {
	// Links are the arguments of ip that run first.
	Links [][]string
	// Containerd and Programs are command lines. Imports run in between, and import the images.
	Containerd []string
	Imports    [][]string
	Programs   map[string][]string
	// Socket is where containerd listens when it is ready.
	Socket string
	// Dir is for files of the box, Logs for the logs of the programs.
	Dir, Logs string
}

// hidden directories are empty in the box. Programs have fixed paths in them, such as /run/containerd,
// /var/lib/cni and /var/log/containers, which the machine's own containerd may also use.
var hidden = []string{"/run", "/var/lib", "/var/log"}

// visible returns an error for files that would be missing in the box.
func visible(o Options) error {
	for _, path := range append([]string{os.TempDir(), o.Logs, o.Programs, o.CSI}, o.Images...) {
		for _, directory := range hidden {
			if path == directory || strings.HasPrefix(path, directory+"/") {
				return fmt.Errorf("%s is not visible on the node, where %s is empty: use another directory", path, directory)
			}
		}
	}
	return nil
}

// paths is the node's directory.
type paths string

func (p paths) in(names ...string) string {
	return filepath.Join(append([]string{string(p)}, names...)...)
}

// settings writes the files of the programs, and returns how to start them.
func (n *Node) settings(ctx context.Context, o Options, subnet netip.Prefix) (settings, error) {
	p := paths(n.dir)
	user, err := n.credentials(ctx)
	if err != nil {
		return settings{}, err
	}
	kubeletsOwn, err := n.kubeconfig(o.Cluster, user)
	if err != nil {
		return settings{}, err
	}
	admins, err := n.kubeconfig(o.Cluster, &clientcmdapi.AuthInfo{
		ClientCertificateData: o.Cluster.CertData, ClientKeyData: o.Cluster.KeyData,
	})
	if err != nil {
		return settings{}, err
	}
	directory, err := pluginDirectory()
	if err != nil {
		return settings{}, err
	}
	network, err := networkConfig(subnet, p.in("addresses"))
	if err != nil {
		return settings{}, err
	}
	address := nodeAddress(subnet).String()
	kubelet, err := yaml.Marshal(kubeletConfig(p, address))
	if err != nil {
		return settings{}, err
	}
	mode, err := proxyMode()
	if err != nil {
		return settings{}, err
	}
	proxy, err := yaml.Marshal(kubeProxyConfig(p, o.Name, mode))
	if err != nil {
		return settings{}, err
	}
	for file, content := range map[string][]byte{
		p.in("containerd.toml"):       containerdConfig(p, o.SandboxImage, directory),
		p.in("cni", "10-bridge.conf"): network,
		p.in("kubelet.yaml"):          kubelet,
		p.in("kubelet.kubeconfig"):    kubeletsOwn,
		p.in("kube-proxy.yaml"):       proxy,
		p.in("Corefile"):              corefile(p),
		p.in("admin.kubeconfig"):      admins,
		p.in("ca.crt"):                o.Cluster.CAData,
		// Pods cannot reach any of the machine's resolvers.
		p.in("resolv.conf"): nil,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, content, 0o600)); err != nil {
			return settings{}, err
		}
	}
	s := settings{
		Links:      n.id.nodeLinks(subnet),
		Containerd: []string{"containerd", "--config", p.in("containerd.toml")},
		Programs: map[string][]string{
			"kubelet":    kubeletCommand(p, o, address),
			"kube-proxy": {filepath.Join(o.Programs, "kube-proxy"), "--config", p.in("kube-proxy.yaml")},
			"coredns":    {filepath.Join(o.Programs, "coredns"), "-conf", p.in("Corefile")},
		},
		Socket: p.in("containerd.sock"),
		Dir:    n.dir,
		Logs:   o.Logs,
	}
	if o.CSI != "" {
		maps.Copy(s.Programs, storagePrograms(p, o))
	}
	for _, archive := range o.Images {
		s.Imports = append(s.Imports, []string{
			"ctr", "--address", s.Socket, "--namespace", containerdNamespace, "images", "import", "--snapshotter", "native", archive,
		})
	}
	return s, nil
}

func kubeletCommand(p paths, o Options, address string) []string {
	command := []string{
		filepath.Join(o.Programs, "kubelet"),
		"--config", p.in("kubelet.yaml"),
		"--kubeconfig", p.in("kubelet.kubeconfig"),
		"--root-dir", p.in("kubelet"),
		"--cert-dir", p.in("pki"),
		"--hostname-override", o.Name,
		"--node-ip", address,
		"--v", "2",
	}
	if len(o.Labels) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
			labels = append(labels, key+"="+o.Labels[key])
		}
		command = append(command, "--node-labels", strings.Join(labels, ","))
	}
	return command
}

// kubeletConfig returns a KubeletConfiguration. Authentication and authorization are the usual ones:
// certificates of the cluster's CA and tokens, and the API server decides.
func kubeletConfig(p paths, address string) map[string]any {
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":             address,
		"healthzPort":         0,
		"authentication":      map[string]any{"x509": map[string]any{"clientCAFile": p.in("ca.crt")}},
		"clusterDNS":          []string{address},
		"clusterDomain":       clusterDomain,
		"resolvConf":          p.in("resolv.conf"),
		"podLogsDir":          p.in("podlogs"),
		"volumePluginDir":     p.in("volumeplugins"),
		"maxPods":             30,
		"nodeStatusMaxImages": -1,

		"containerRuntimeEndpoint": "unix://" + p.in("containerd.sock"),

		// The machine may have cgroups of version 1, or lack controllers, as in a container. The containers'
		// own cgroups work anyway.
		"failCgroupV1":           false,
		"cgroupDriver":           "cgroupfs",
		"cgroupsPerQOS":          false,
		"enforceNodeAllocatable": []string{},

		// How soon a changed ConfigMap shows in a volume, at the latest.
		"syncFrequency": "5s",

		// Even root may lack these rights in a container or a small virtual machine: the kubelet works
		// without them.
		"featureGates":                  map[string]bool{"KubeletInUserNamespace": true},
		"localStorageCapacityIsolation": false,
		"oomScoreAdj":                   0,

		// Nobody needs these firewall chains. The disk is the machine's: a full disk must not evict pods or
		// delete images.
		"makeIPTablesUtilChains":      false,
		"imageGCHighThresholdPercent": 100,
		"evictionHard": map[string]string{
			"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
	}
}

// containerdConfig keeps containerd within its directory. The snapshotter native works on any file system,
// and with restrict_oom_score_adj containerd needs no right to lower that score.
func containerdConfig(p paths, sandboxImage, plugins string) []byte {
	quoted := strconv.Quote
	return []byte(`version = 2
root = ` + quoted(p.in("containerd", "root")) + `
state = ` + quoted(p.in("containerd", "state")) + `
[grpc]
address = ` + quoted(p.in("containerd.sock")) + `
[plugins."io.containerd.internal.v1.opt"]
path = ` + quoted(p.in("opt")) + `
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = ` + quoted(sandboxImage) + `
restrict_oom_score_adj = true
disable_apparmor = true
netns_mounts_under_state_dir = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = ` + quoted(plugins) + `
conf_dir = ` + quoted(p.in("cni")) + `
`)
}
