// Package clusters brings whole Kubernetes control planes up and down on this
// machine, as a normal user and without Docker: etcd, kube-apiserver and, as
// wished, kube-controller-manager, kube-scheduler and kwok, which plays the
// kubelets. Tests, the demo and the benchmark run on such clusters.
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
// Up returns when the API server is ready, every component is alive, the
// controller manager works and the nodes are Ready. KillAPIServer,
// PauseAPIServer, ResumeAPIServer and StartAPIServer make the provider that
// crashes, hangs and comes back. KubeconfigFor makes the credentials of a
// ServiceAccount, so that tests run under the RBAC that is shipped.
//
// # Implementation
//
// The programs are those of bin/kube (make kube). kwokctl lays out, starts and
// restarts a cluster in <Dir>/clusters/<Name>, from a configuration that this
// package writes. The state is that directory and the processes whose program
// lies in it: nothing is held in memory only, so that Open, Down and the next
// Up also find what a killed run has left over. A cluster outlives the process
// that made it (each component is a session of its own), until Down.
//
// Everything listens on 127.0.0.1 only. Ports come from a register in the
// temporary directory that all runs of a user share under a lock; a cluster
// keeps its ports until its directory is gone, so that an API server which is
// down for a while finds its port free. What takes a port without the register
// is seen by listening on it first; who comes in between makes Up try again.
//
// One process at a time owns a name: a second Up of it in the same process, or
// after the first process has ended, replaces the cluster; in another process,
// at the same time, it is an error.
//
// # Trade-offs
//
// Etcd does not fsync: a cluster survives the SIGKILL of every process, not a
// power cut. Leader election is off, because a component that loses its lease
// while the API server is away would exit; StartAPIServer restarts them
// instead. Clients of the controller manager and the scheduler are not rate
// limited; the API server's priority and fairness is on, as in a real cluster.
// Nodes are kwok's: pods become Running, but nothing runs. Only nodes labelled
// type=kwok are kwok's; all others (virtual nodes) it leaves alone. A cluster
// takes about 700 MiB and 5 seconds.
package clusters
