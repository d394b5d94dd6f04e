package clusters

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"
)

// The types below are the part of kwokctl's configuration that this package uses. It uses the file instead of
// flags, because only the file has the bind address, and because kwokctl 0.8 mixes up several --extra-args of
// one component.
type kwokctlConfig struct {
	APIVersion        string           `json:"apiVersion"`
	Kind              string           `json:"kind"`
	Options           kwokctlOptions   `json:"options"`
	ComponentsPatches []componentPatch `json:"componentsPatches,omitempty"`
}

type kwokctlOptions struct {
	Runtime     string      `json:"runtime"`
	BindAddress string      `json:"bindAddress"`
	Components  []Component `json:"components"`

	EtcdBinary                  string `json:"etcdBinary"`
	KubeAPIServerBinary         string `json:"kubeApiserverBinary"`
	KubeControllerManagerBinary string `json:"kubeControllerManagerBinary"`
	KubeSchedulerBinary         string `json:"kubeSchedulerBinary"`
	KwokControllerBinary        string `json:"kwokControllerBinary"`
	KubectlBinary               string `json:"kubectlBinary"`
	KubeAuditPolicy             string `json:"kubeAuditPolicy,omitempty"`

	KubeAPIServerCertSANs []string `json:"kubeApiserverCertSANs"`

	EtcdPort                  int `json:"etcdPort"`
	EtcdPeerPort              int `json:"etcdPeerPort"`
	KubeAPIServerPort         int `json:"kubeApiserverPort"`
	KubeControllerManagerPort int `json:"kubeControllerManagerPort"`
	KubeSchedulerPort         int `json:"kubeSchedulerPort"`
	KwokControllerPort        int `json:"kwokControllerPort"`

	HeartbeatFactor          float64 `json:"heartbeatFactor"`
	NodeLeaseDurationSeconds int     `json:"nodeLeaseDurationSeconds"`
	NodeMonitorPeriod        int64   `json:"kubeControllerManagerNodeMonitorPeriodMilliseconds"`
	NodeMonitorGracePeriod   int64   `json:"kubeControllerManagerNodeMonitorGracePeriodMilliseconds"`
}

type componentPatch struct {
	Name      Component  `json:"name"`
	ExtraArgs []extraArg `json:"extraArgs"`
}

type extraArg struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Override replaces kwokctl's own flag of that name, which must exist. Otherwise the flag is added after
	// all others.
	Override bool `json:"override"`
}

// stages are what kwok does with pods.
//
//go:embed stages.yaml
var stages []byte

// containers are what kwok plays of containers.
//
//go:embed containers.yaml
var containers []byte

// ingresses are what kwok plays of an ingress controller.
//
//go:embed ingresses.yaml
var ingresses []byte

// containerLog is the log of all containers, as a container runtime writes it.
const containerLog = "2026-01-01T00:00:00.000000000Z stdout F listening on port 80\n" +
	"2026-01-01T00:00:01.000000000Z stdout F ready\n"

// playContainers writes what kwok needs to play the containers of a cluster into dir, and returns its
// configuration.
func playContainers(dir string) ([]byte, error) {
	if err := os.WriteFile(filepath.Join(dir, "container.log"), []byte(containerLog), 0o600); err != nil {
		return nil, fmt.Errorf("writing the log of the containers: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "container"), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the containers: %w", err)
	}
	return bytes.ReplaceAll(containers, []byte("DIR"), []byte(dir)), nil
}

// ports of a cluster, all on 127.0.0.1.
type ports struct{ etcd, etcdPeer, apiServer, controllerManager, scheduler, kwok int }

const portsPerCluster = 6

func portsFrom(p []int) ports { return ports{p[0], p[1], p[2], p[3], p[4], p[5]} }

// APIServerAddress is the address of Service default/kubernetes: the first of an API server's default range.
const APIServerAddress = "10.0.0.1"

// multiValued are the flags of kwokctl that add up if they are given twice. Of all others the last one wins,
// so they need no override. configFor returns kwokctl's configuration for o. auditPolicy is a file, or empty.
var multiValued = []string{"authorization-mode", "authorization-always-allow-paths", "etcd-servers"}

// configFor makes kwokctl's configuration for o. auditPolicy is a file, or empty.
func configFor(o Options, p ports, auditPolicy string) kwokctlConfig {
	bin := func(name string) string { return filepath.Join(o.BinDir, name) }
	return kwokctlConfig{
		APIVersion: "config.kwok.x-k8s.io/v1alpha1",
		Kind:       "KwokctlConfiguration",
		Options: kwokctlOptions{
			Runtime:     "binary",
			BindAddress: "127.0.0.1",
			Components:  o.components(),

			EtcdBinary:                  bin("etcd"),
			KubeAPIServerBinary:         bin("kube-apiserver"),
			KubeControllerManagerBinary: bin("kube-controller-manager"),
			KubeSchedulerBinary:         bin("kube-scheduler"),
			KwokControllerBinary:        bin("kwok"),
			KubectlBinary:               bin("kubectl"),
			KubeAuditPolicy:             auditPolicy,

			KubeAPIServerCertSANs: []string{APIServerAddress},

			EtcdPort:                  p.etcd,
			EtcdPeerPort:              p.etcdPeer,
			KubeAPIServerPort:         p.apiServer,
			KubeControllerManagerPort: p.controllerManager,
			KubeSchedulerPort:         p.scheduler,
			KwokControllerPort:        p.kwok,

			// kwokctl would multiply all of the following by 5.
			HeartbeatFactor:          1,
			NodeLeaseDurationSeconds: int(o.NodeGrace / time.Second),
			NodeMonitorPeriod:        min(2*time.Second, o.NodeGrace/8).Milliseconds(),
			NodeMonitorGracePeriod:   o.NodeGrace.Milliseconds(),
		},
		ComponentsPatches: patchesFor(o),
	}
}

func patchesFor(o Options) []componentPatch {
	unlimited := map[string]string{"leader-elect": "false", "kube-api-qps": "5000", "kube-api-burst": "10000"}
	pki := filepath.Join(handle(o.Dir, o.BinDir, o.Name).dir, "pki")
	// With this certificate the API server identifies itself to kubelets and to Spillway's virtual nodes.
	// kwokctl sets none, because kwok's nodes check nobody.
	known := map[string]string{"kubelet-client-certificate": filepath.Join(pki, "admin.crt"), "kubelet-client-key": filepath.Join(pki, "admin.key")}
	args := map[Component]map[string]string{
		Etcd:                  {"unsafe-no-fsync": "true"},
		KubeAPIServer:         merge(known, o.APIServerArgs),
		KubeControllerManager: merge(unlimited, o.ControllerManagerArgs),
		KubeScheduler:         unlimited,
		KwokController: {
			"manage-all-nodes":                 "false",
			"manage-nodes-with-label-selector": KwokNodeLabel + "=" + KwokNodeValue,
		},
	}
	if o.MakeVolumes {
		args[KubeControllerManager]["enable-hostpath-provisioner"] = "true"
	}
	if o.PodCIDR != "" {
		args[KwokController]["cidr"] = o.PodCIDR
	}
	var patches []componentPatch
	for _, c := range o.components() {
		patch := componentPatch{Name: c}
		for _, key := range slices.Sorted(maps.Keys(args[c])) {
			patch.ExtraArgs = append(patch.ExtraArgs,
				extraArg{Key: key, Value: args[c][key], Override: slices.Contains(multiValued, key)})
		}
		if len(patch.ExtraArgs) > 0 {
			patches = append(patches, patch)
		}
	}
	return patches
}

// merge returns base, overridden and extended by override.
func merge(base, override map[string]string) map[string]string {
	merged := maps.Clone(base)
	maps.Copy(merged, override)
	return merged
}

func (c kwokctlConfig) yaml() ([]byte, error) {
	raw, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding kwokctl's configuration: %w", err)
	}
	return raw, nil
}

func localhost(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
