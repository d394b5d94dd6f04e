// Package plugin runs the commands of kubectl spillway as a user would. The consumer and the provider are
// real control planes, and the manager is real too.
package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/plugin"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/clusters"
)

// The clusters, and the clients of their administrators.
var (
	home, eu               *clusters.Cluster
	inConsumer, inProvider client.Client
	kubeconfig             string
	patience               = 2 * time.Minute
	lenient                = 30 * time.Second
	components             = clusters.AllComponents()
	controllers            = map[string]string{"controllers": "*,-deployment-controller"} // The test plays it.
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	clusters.RequireBinaries()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	root, err := clusters.Root()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	directory := filepath.Join(root, "bin", "plugin")
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i, one := range []**clusters.Cluster{&home, &eu} {
		group.Go(func() {
			*one, errs[i] = clusters.Up(ctx, clusters.Options{
				Name: []string{"home", "eu"}[i], Dir: directory, Components: components, ControllerManagerArgs: controllers, PlayContainers: i == 1,
			})
		})
	}
	group.Wait()
	for i, cluster := range []*clusters.Cluster{home, eu} {
		if errs[i] != nil {
			fmt.Fprintln(os.Stderr, "starting the clusters:", errs[i])
			return 1
		}
		defer func() { _ = cluster.Down(ctx) }()
	}
	if err := prepare(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare creates the clients, and one kubeconfig for both clusters.
func prepare(directory string) error {
	all := clientcmdapi.NewConfig()
	for _, cluster := range []*clusters.Cluster{home, eu} {
		one, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
		if err != nil {
			return err
		}
		for name, context := range one.Contexts {
			all.Contexts[name], all.Clusters[name], all.AuthInfos[name] = context, one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
			context.Cluster, context.AuthInfo = name, name
		}
	}
	all.CurrentContext = home.Name
	kubeconfig = filepath.Join(directory, "both.kubeconfig")
	if err := clientcmd.WriteToFile(*all, kubeconfig); err != nil {
		return err
	}
	var err error
	if inConsumer, err = client.New(home.Config(), client.Options{Scheme: manager.Scheme()}); err == nil {
		inProvider, err = client.New(eu.Config(), client.Options{Scheme: manager.Scheme()})
	}
	return err
}

// startManager runs the manager in this process, as the ServiceAccount that install has created. The test
// plays the kubelet of the manager's Deployment: it says that a replica is available.
func startManager(t *testing.T) {
	t.Helper()
	identity, err := home.KubeconfigFor(t.Context(), config.Namespace, config.Manager, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	as, err := clientcmd.RESTConfigFromKubeConfig(identity)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := manager.New(t.Context(), as, manager.Options{
		ConsumerID: "home", SkipMetrics: true, Kubelet: kubelet.Options{Address: "127.0.0.1", Port: freePort(t)},
		Fleet: fleet.Options{ProbeInterval: time.Second, ProbeTimeout: lenient, LeaseDuration: lenient},
		Manager: ctrl.Options{
			Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager has ended: %v", err)
		}
	})
}

// freePort returns a port of 127.0.0.1 that was free just now.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// available sets the status of the manager's Deployment, as its controller would.
func available(t *testing.T) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := inConsumer.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: config.Manager}, deployment); err != nil {
		t.Fatal(err)
	}
	before := deployment.DeepCopy()
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
	}
	if err := inConsumer.Status().Patch(t.Context(), deployment, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// spillway runs a command, and returns its output.
func spillway(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	return untilSaid(t, "", args...)
}

// untilSaid is like spillway, but the time of --timeout is over as soon as the command has printed a text.
func untilSaid(t *testing.T, text string, args ...string) (out string, err error) {
	t.Helper()
	ctx, giveUp := context.WithCancelCause(t.Context())
	defer giveUp(nil)
	return say(ctx, t, text, func() { giveUp(cli.ErrTime) }, args...)
}

// whenSaid is like spillway, but calls do as soon as the command has printed a text. The command waits for it.
func whenSaid(t *testing.T, text string, do func(), args ...string) (out string, err error) {
	t.Helper()
	return say(t.Context(), t, text, do, args...)
}

func say(ctx context.Context, t *testing.T, text string, do func(), args ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("kubectl spillway %s takes longer than %s", args[0], patience))
	defer cancel()
	stdout, stderr := &listener{text: text, heard: sync.OnceFunc(do)}, &bytes.Buffer{}
	command := plugin.Command("test", genericiooptions.IOStreams{In: strings.NewReader(""), Out: stdout, ErrOut: stderr})
	command.SetArgs(append([]string{"--kubeconfig", kubeconfig}, args...))
	err = command.ExecuteContext(ctx)
	t.Logf("$ kubectl spillway %s\n%s%s(error: %v)", strings.Join(args, " "), stdout.String(), stderr.String(), err)
	return stdout.String(), err
}

// listener calls heard when its text was written, if it has one.
type listener struct {
	bytes.Buffer
	text  string
	heard func()
}

func (l *listener) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p)
	if l.text != "" && strings.Contains(l.String(), l.text) {
		l.heard()
	}
	return n, err
}

// does runs a command that must succeed, and returns its steps by action.
func does(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	out, err := spillway(t, append(args, "-o", "json")...)
	if err != nil {
		t.Fatal(err)
	}
	return actions(t, out)
}

func actions(t *testing.T, out string) map[string][]string {
	t.Helper()
	var summary cli.Summary
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	done := map[string][]string{}
	for _, step := range summary.Steps {
		done[step.Action] = append(done[step.Action], step.Object)
	}
	return done
}

// fails runs a command that must fail with this text in its error.
func fails(t *testing.T, want string, args ...string) {
	t.Helper()
	_, err := spillway(t, args...)
	says(t, err, want, args)
}

// givesUp runs a command that waits. Its time is over as soon as it has printed what it waits for. It must
// then fail with the wanted text in its error.
func givesUp(t *testing.T, waits, want string, args ...string) {
	t.Helper()
	_, err := untilSaid(t, waits, args...)
	says(t, err, want, args)
}

func says(t *testing.T, err error, want string, args []string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("kubectl spillway %s: got %v, want %q", strings.Join(args, " "), err, want)
	}
}
