// Command kube is a Kubernetes cluster in one file. It contains the programs listed in commands. Each is the
// unmodified upstream program, built from Go modules. The programs share most of their code, so one file
// builds faster and is smaller than separate files.
//
// The program that runs has the name under which kube was started (through a symbolic link, as with busybox).
// Otherwise it is the first argument.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectlcli "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// The upstream main packages make the same registrations: metrics of client-go and of the build, and the
	// JSON log format.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// commands maps the name of each program to the function that runs it. The arguments are already in os.Args,
// without the multicall name.
var commands = map[string]func() int{
	"etcd": func() int {
		etcdmain.Main(os.Args) // does not return on failure
		return 0
	},
	"kube-apiserver":          withCobra(func() *cobra.Command { return apiserver.NewAPIServerCommand() }),
	"kube-controller-manager": withCobra(func() *cobra.Command { return controllermanager.NewControllerManagerCommand() }),
	"kube-scheduler":          withCobra(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 withCobra(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kube-proxy":              withCobra(func() *cobra.Command { return proxy.NewProxyCommand() }),
	"kubectl": func() int {
		if err := cli.RunNoErrOutput(kubectlcli.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
		return 0
	},
}

func withCobra(newCommand func() *cobra.Command) func() int {
	return func() int { return cli.Run(newCommand()) }
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := commands[name]; !ok && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	run, ok := commands[name]
	if !ok {
		names := slices.Sorted(maps.Keys(commands))
		fmt.Fprintf(os.Stderr, "usage: kube PROGRAM [ARG ...]\nPROGRAM is one of: %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(run())
}
