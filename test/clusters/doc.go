// Package clusters starts and ends whole Kubernetes control planes on this machine, as a normal user and
// without Docker. They have etcd, kube-apiserver and, if requested, kube-controller-manager, kube-scheduler
// and kwok, which plays the kubelets. Tests, the demo and the benchmarks use such clusters.
//
// # Usage
//
//	func TestMain(m *testing.M) {
//		clusters.RequireBinaries()
//		os.Exit(m.Run())
//	}
//
//	consumer, err := clusters.Up(ctx, clusters.Options{
//		Name:       "consumer",
//		Components: clusters.AllComponents(),
//		Nodes:      []clusters.Node{{Name: "node-1"}},
//		NodeGrace:  12 * time.Second,
//	})
//	...
//	defer consumer.Down(context.Background())
//	c, err := client.New(consumer.Config(), client.Options{})
//
// Up returns when the API server is ready, every component is alive, the controller manager works and the
// nodes are Ready. KillAPIServer, PauseAPIServer, ResumeAPIServer and StartAPIServer play a provider that
// crashes, hangs and comes back. KubeconfigFor returns the credentials of a ServiceAccount, so that tests run
// under the shipped RBAC.
//
// # Implementation
//
// The programs come from bin/kube (make kube). kwokctl creates, starts and restarts a cluster in
// <Dir>/clusters/<Name>, from a configuration that this package writes. The state is that directory, and the
// processes with a program in it; nothing is only in memory. So Open, Down and the next Up also find what a
// killed run has left. A cluster outlives the process that started it, until Down: each component is its own
// session.
//
// All components listen only on 127.0.0.1. Ports come from a register in the temporary directory, which all
// runs of a user share under a lock. A cluster keeps its ports until its directory is deleted, so a stopped
// API server finds its port free. Before a port is used, the package listens on it, to find programs that do
// not use the register. If a program takes the port after that, Up tries again.
//
// One process at a time owns a name. A second Up of the name replaces the cluster, in the same process or
// after the first process has ended. It is an error in another process at the same time.
//
// # Trade-offs
//
// Etcd does not fsync: a cluster survives the SIGKILL of every process, but not a power cut. Leader election
// is off, because a component that loses its lease would exit while the API server is away; StartAPIServer
// restarts the components instead. Clients of the controller manager and the scheduler have no rate limit;
// the API server's priority and fairness is on, as in a real cluster. Nodes are kwok's: pods become Running,
// but nothing runs. kwok manages only nodes with the label type=kwok, and leaves all others alone, such as
// virtual nodes. A cluster takes about 700 MiB and 5 seconds.
package clusters
