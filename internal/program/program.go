// Package program has what bin/manager and bin/hosted share: how they log, find the cluster that they work
// for, and end.
package program

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/spillway-io/spillway/internal/logs"
)

// Log sets the logger of the program, and of all libraries.
func Log(options *zap.Options) {
	logger := logs.Bounded(zap.New(zap.UseFlagOptions(options)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) //nolint:forbidigo // For Kubernetes' own libraries, such as leader election.
}

// Manager is what a program runs: a manager of controller-runtime or of multicluster-runtime.
type Manager interface {
	AddHealthzCheck(name string, check healthz.Checker) error
	AddReadyzCheck(name string, check healthz.Checker) error
	Start(ctx context.Context) error
}

// Run builds a manager for the cluster of the kubeconfig, or for the cluster that it runs in. It runs the
// manager until the process gets a signal to end.
func Run(version string, build func(context.Context, *rest.Config) (Manager, error)) error {
	ctx := ctrl.SetupSignalHandler()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster to work for (set --kubeconfig, or run in a cluster): %w", err)
	}
	mgr, err := build(ctx, config)
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
