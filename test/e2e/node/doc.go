// Package node runs one real Kubernetes node on this machine, for a cluster of package test/clusters. It has
// the kubelet of bin/kube on containerd and runc, whose containers really run. kube-proxy and CoreDNS make
// Services work, and a CSI driver volumes (storage.go).
//
// # Usage
//
//	func TestMain(m *testing.M) {
//		node.Main() // does not return in the process that is the node
//		os.Exit(m.Run())
//	}
//
//	if err := node.Supported(); err != nil { skip, and say why }
//	n, err := node.Start(ctx, node.Options{Name: "worker", Cluster: cluster.Config(), ...})
//	...
//	defer n.Stop(ctx)
//
// # Implementation
//
// Start runs this program again, as process 1 of new PID, mount and network namespaces. That process (see
// box_linux.go) starts the programs of the node. It ends when one of them or its standard input ends. The
// kernel then ends every process in the namespace, and removes its mounts, interfaces and firewall. So
// nothing outlives the test, even if it is killed. /run, /var/lib and /var/log are empty inside, so that the
// machine's own containerd is not touched.
//
// Outside of the namespaces there are a temporary directory, an interface that leads to the node (link.go),
// and the cgroups of the containers. The names of the first two contain the ID of the process that created
// them. Stop removes all three; the next Start removes what dead processes have left. The API server listens
// on 127.0.0.1 of the machine, and the test forwards the node's connections to it (door.go).
//
// # Trade-offs
//
// Pods reach only the node, each other, Services and the machine's end of the link. kube-proxy uses nftables,
// else iptables (services.go). CoreDNS is a program of the node, not a pod behind a Service; both have an
// administrator's rights. Nothing enforces NetworkPolicies. The kubelet serves with a self-signed
// certificate, which the API server does not check. Containers have cgroups, but pods and QoS classes have
// none, and nothing is evicted for lack of disk or memory. The package needs root.
package node
