// Command hosted runs the operator of hosted clusters: it keeps clusters in EKS, AKS and GKE and their
// HostedClusters in step. It is a separate program, because the manager has neither the clouds' libraries nor
// their credentials.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // The clouds' certificates, in an image without any.
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/hosted/clouds/dial"
	"github.com/spillway-io/spillway/hosted/operator"
	"github.com/spillway-io/spillway/internal/program"
)

// version is set by the linker.
var version = "development"

func main() {
	var (
		options     operator.Options
		clouds      dial.Dialer
		metricsAddr string
		logging     zap.Options
		showVersion bool
	)
	// The flag -kubeconfig comes from controller-runtime.
	flag.StringVar(&options.Namespace, "namespace", operator.DefaultNamespace,
		"`namespace` of the operator, where the Secrets with the credentials for the clouds are")
	flag.StringVar(&options.ManagerNamespace, "manager-namespace", operator.DefaultManagerNamespace,
		"`namespace` of Spillway's manager, where the Secrets of ClusterBindings are")
	flag.StringVar(&metricsAddr, "metrics-bind-address", ":8080", "`address` of the metrics, or 0 for none")
	flag.StringVar(&options.Manager.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz, or 0 for none")
	flag.BoolVar(&options.Manager.LeaderElection, "leader-elect", false,
		"let several operators run, with one active at a time")
	flag.Func("endpoints", "endpoints of clouds, if not the public ones, as `cloud=URL,...`: eks, ec2 (launch templates for eks), aks, entra (tokens for aks), gke", clouds.SetEndpoints)
	flag.BoolVar(&showVersion, "version", false, "print the version and exit")
	logging.BindFlags(flag.CommandLine)
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Spillway keeps clusters in EKS, AKS and GKE in sync with their HostedClusters.\n\nusage: hosted [FLAG ...]\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "hosted: unexpected argument %q; see hosted --help\n", flag.Arg(0))
		os.Exit(2)
	}
	if showVersion {
		fmt.Println(version)
		return
	}
	program.Log(&logging)
	options.Clouds = &clouds
	options.Manager.Metrics = metricsserver.Options{BindAddress: metricsAddr}
	options.Manager.LeaderElectionID = "spillway-hosted"
	options.Manager.LeaderElectionNamespace = options.Namespace
	options.Manager.LeaderElectionReleaseOnCancel = true
	if err := run(options); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the operator stopped")
		os.Exit(1)
	}
}

// run runs the operator until it is stopped.
func run(options operator.Options) error {
	return program.Run(version, func(_ context.Context, config *rest.Config) (program.Manager, error) {
		return operator.New(config, options) //nolint:contextcheck // Its recorder ends with the manager, not with ctx.
	})
}
