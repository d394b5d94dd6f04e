// Package node runs one real Kubernetes node on this machine, for a cluster of
// package test/clusters: the kubelet of bin/kube on containerd and runc, whose
// containers really run, with kube-proxy and CoreDNS, so that Services lead to them.
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
// Start runs this program once more, as process 1 of a PID, a mount and a network
// namespace of its own. That process (see box_linux.go) starts the programs of the
// node and ends when one of them ends, or when its standard input does; the kernel
// then ends whatever runs in the namespace, and takes away its mounts, interfaces
// and firewall. So nothing outlives the test, even if it is killed. /run, /var/lib and
// /var/log are empty in there, so that no containerd of the machine is touched.
//
// Outside of the namespaces there are a temporary directory and an interface that
// leads to the node (link.go), both named after the process that made them, and the
// cgroups of the containers. Stop removes them; the next Start removes those of
// processes that are gone. The API server listens on 127.0.0.1 of the machine, and
// the test passes on to it what the node sends (door.go).
//
// # Trade-offs
//
// Pods reach the node, each other, Services and the machine's end of the link, and
// nothing else. kube-proxy uses nftables, else iptables (services.go). CoreDNS is a
// program of the node, not a pod behind a Service; both have an administrator's
// rights. Nothing enforces NetworkPolicies. The kubelet serves with a certificate
// that it has signed itself, which the API server does not check. Containers have
// cgroups, but pods and the classes of quality of service have not, and nothing is
// evicted for want of disk or memory. It needs root.
package node
