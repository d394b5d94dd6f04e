// Command manager runs Spillway in, or for, a consumer cluster.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/holder"
	"github.com/spillway-io/spillway/internal/logs"
	"github.com/spillway-io/spillway/internal/manager"
)

// version is set by the linker.
var version = "development"

func main() {
	var (
		options     manager.Options
		metricsAddr string
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
	flag.StringVar(&options.Manager.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz, or 0 for none")
	flag.StringVar(&options.Manager.PprofBindAddress, "pprof-bind-address", "", "`address` of /debug/pprof, which is for those who look into the manager itself; empty for none")
	flag.BoolVar(&options.Manager.LeaderElection, "leader-elect", false,
		"let several managers run, of which one at a time works")
	flag.BoolVar(&options.Shard, "shard", false,
		"let several managers run, of which each works for its share of the ClusterBindings; implies --leader-elect, for what is of this cluster as a whole")
	flag.DurationVar(&options.Fleet.LeaseDuration, "provider-lease-duration", fleet.DefaultLeaseDuration,
		"how long the Lease in each provider holds that is not renewed, and so `how long` the next manager waits after a crash; some seconds, at most five minutes")
	flag.BoolVar(&showVersion, "version", false, "print the version and exit")
	logging.BindFlags(flag.CommandLine)
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Spillway lets namespaces of this cluster run their pods in other clusters.\n\nusage: manager [FLAG ...]\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "manager: unexpected argument %q; see manager --help\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := holder.CheckDuration(options.Fleet.LeaseDuration); err != nil {
		fmt.Fprintln(os.Stderr, "manager: --provider-lease-duration:", err)
		os.Exit(2)
	}
	if showVersion {
		fmt.Println(version)
		return
	}
	manager.LimitMemory(os.Getenv)
	logger := logs.Bounded(zap.New(zap.UseFlagOptions(&logging)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) //nolint:forbidigo // For Kubernetes' own libraries, such as leader election.
	options.Manager.Metrics = metricsserver.Options{BindAddress: metricsAddr}
	options.Manager.LeaderElection = options.Manager.LeaderElection || options.Shard
	options.Manager.LeaderElectionID = "spillway-manager"
	options.Manager.LeaderElectionNamespace = options.Namespace
	options.Manager.LeaderElectionReleaseOnCancel = true
	if err := run(options); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the manager stopped")
		os.Exit(1)
	}
}

// run runs the manager until it is stopped.
func run(options manager.Options) error {
	ctx := ctrl.SetupSignalHandler()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster to work for (set --kubeconfig, or run in a cluster): %w", err)
	}
	mgr, err := manager.New(ctx, config, options)
	if err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting", "version", version)
	return mgr.Start(ctx)
}
