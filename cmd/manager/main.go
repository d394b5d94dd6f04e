// Command manager runs Spillway in, or for, a consumer cluster.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // For kubeconfigs without an authority, in an image without any.
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/spillway-io/spillway/controllers/podadmission"
	"github.com/spillway-io/spillway/internal/check"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/program"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/lease"
)

// version is set by the linker.
var version = "development"

func main() {
	var (
		options     manager.Options
		metricsAddr string
		secure      bool
		logging     zap.Options
		showVersion bool
	)
	// The flag -kubeconfig comes from controller-runtime.
	flag.StringVar(&options.Namespace, "namespace", manager.DefaultNamespace,
		"`namespace` of the manager, where the kubeconfig Secrets of the providers are")
	flag.StringVar(&options.ConsumerID, "cluster-id", "",
		"`name` of this cluster in the names of remote namespaces (strategy DefaultName), at most 24 characters; "+
			"by default the first 8 characters of the UID of its kube-system namespace")
	flag.StringVar(&metricsAddr, "metrics-bind-address", ":8080", "`address` of the metrics, or 0 for none")
	flag.BoolVar(&secure, "metrics-secure", false,
		"serve the metrics by https, with a self-signed certificate, and only to clients that may get the path /metrics: their tokens are reviewed by this cluster")
	flag.StringVar(&options.Manager.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz, or 0 for none")
	flag.StringVar(&options.Manager.PprofBindAddress, "pprof-bind-address", "", "`address` of /debug/pprof, to profile the manager: a loopback address, such as 127.0.0.1:6060; empty for none")
	flag.BoolVar(&options.Manager.LeaderElection, "leader-elect", false,
		"let several managers run, with one active at a time")
	flag.BoolVar(&options.Shard, "shard", false,
		"let several managers run, each for its share of the ClusterBindings; implies --leader-elect, for cluster-wide work")
	flag.StringVar(&options.ClusterProfiles, "cluster-profiles", "",
		"`namespace` in which each ClusterBinding is published as a ClusterProfile (multicluster.x-k8s.io); needs the ClusterRole spillway-cluster-profiles there; empty for none")
	flag.DurationVar(&options.Fleet.LeaseDuration, "provider-lease-duration", fleet.DefaultLeaseDuration,
		"how long the Lease in each provider lasts without renewal, and so `how long` the next manager waits after a crash; some seconds, at most five minutes")
	flag.StringVar((*string)(&options.PodAdmission.Mode), "pod-admission", string(podadmission.Policy),
		"what prepares the pods of offloaded namespaces: `Policy`, which needs Kubernetes 1.36; Webhook, served by this manager; "+
			"or Auto, the policy if served and installed, otherwise the webhook. The latter two need dist/install-webhook.yaml")
	flag.IntVar(&options.PodAdmission.Port, "webhook-port", podadmission.DefaultPort, "`port` of that webhook, at all addresses of this process")
	kubeletFlags(&options.Kubelet)
	flag.BoolVar(&showVersion, "version", false, "print the version and exit")
	logging.BindFlags(flag.CommandLine)
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Spillway lets namespaces of this cluster run their pods in other clusters.\n\nusage: manager [FLAG ...]\n       manager [FLAG ...] check installation|removal\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		os.Exit(runArguments(options.Namespace, flag.Args()))
	}
	if err := validate(&options); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(2)
	}
	if showVersion {
		fmt.Println(version)
		return
	}
	options.Provides = true // Volumes that providers create.
	manager.LimitMemory(os.Getenv)
	program.Log(&logging)
	options.Manager.Metrics = manager.Metrics(metricsAddr, secure)
	options.Manager.LeaderElection = options.Manager.LeaderElection || options.Shard
	options.Manager.LeaderElectionID = check.LeaseName
	options.Manager.LeaderElectionNamespace = options.Namespace
	options.Manager.LeaderElectionReleaseOnCancel = true
	if err := run(options); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the manager stopped")
		os.Exit(1)
	}
}

// validate returns what is wrong with the first invalid flag.
func validate(o *manager.Options) error {
	if err := lease.CheckDuration(o.Fleet.LeaseDuration); err != nil {
		return fmt.Errorf("--provider-lease-duration: %w", err)
	}
	if err := onlyLoopback(o.Manager.PprofBindAddress); err != nil {
		return fmt.Errorf("--pprof-bind-address: %w", err)
	}
	return cmp.Or(o.PodAdmission.Validate(), o.Kubelet.Validate())
}

// onlyLoopback refuses an address that others can reach, because users with nodes/proxy of a virtual node
// reach every port of this process.
func onlyLoopback(address string) error {
	if address == "" || address == "0" {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("it must be a loopback address, such as 127.0.0.1:6060, not %q", address)
	}
	return nil
}

// kubeletFlags adds the flags of the kubelet API of virtual nodes.
func kubeletFlags(o *kubelet.Options) {
	flag.StringVar(&o.Address, "kubelet-address", "",
		"`address` at which this cluster's API server reaches this manager, for logs, exec, attach and port-forward of offloaded pods: "+
			"an IP address, or a name that it can resolve; empty for none of these")
	flag.IntVar(&o.Port, "kubelet-port", kubelet.DefaultPort, "`port` for these, at all addresses of this process")
	flag.Func("kubelet-certificate", fmt.Sprintf("where the serving certificate for these comes from: `%s`, %s or %s (default %[1]s)", kubelet.SelfSigned, kubelet.CSR, kubelet.File),
		func(mode string) error {
			o.Certificate = kubelet.CertificateMode(mode)
			return o.Certificate.Validate()
		})
	flag.StringVar(&o.CertificateFile, "kubelet-certificate-file", "", "`file` with that certificate, in PEM, for --kubelet-certificate=file")
	flag.StringVar(&o.KeyFile, "kubelet-key-file", "", "`file` with its key, in PEM")
	flag.StringVar(&o.Signer, "kubelet-certificate-signer", kubelet.DefaultSigner, "`name` of the signer, for --kubelet-certificate=csr")
	flag.StringVar(&o.ClientCAFile, "kubelet-client-ca-file", "",
		"`file` with the authority of client certificates, in PEM; by default the one in ConfigMap kube-system/extension-apiserver-authentication")
}

// run runs the manager until it is stopped.
func run(options manager.Options) error {
	return program.Run(version, func(ctx context.Context, config *rest.Config) (program.Manager, error) {
		return manager.New(ctx, config, options)
	})
}
