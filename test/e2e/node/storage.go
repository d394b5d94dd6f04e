package node

import "path/filepath"

// storagePrograms are a CSI driver, and the programs that make and expand its volumes for claims. They have
// an administrator's rights. The driver listens where the kubelet looks for drivers.
func storagePrograms(p paths, o Options) map[string][]string {
	socket := p.in("kubelet", "plugins_registry", "csi.sock")
	sidecar := func(name string) []string {
		return []string{filepath.Join(o.CSI, name), "--kubeconfig", p.in("admin.kubeconfig"), "--csi-address", socket, "--v", "2"}
	}
	return map[string][]string{
		"csi-driver":      {filepath.Join(o.CSI, "csi-driver"), "-node", o.Name, "-socket", socket, "-volumes", p.in("volumes")},
		"csi-provisioner": sidecar("csi-provisioner"),
		"csi-resizer":     sidecar("csi-resizer"),
	}
}
