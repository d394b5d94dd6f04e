//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/test/performance/floor"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	// asFloor is the variable that makes this program the floor. Its value is the consumer's kubeconfig, then
	// the ID and the kubeconfig of each provider.
	asFloor = "SPILLWAY_BENCH_FLOOR"
	// floorAgent is its user agent, and floorNamespace its namespace in all clusters.
	floorAgent     = "spillway-bench-floor"
	floorNamespace = "floor-pods"
)

// floorProcess is the floor in its own process, like the manager.
type floorProcess struct {
	command *exec.Cmd
	ended   chan struct{}
	audits  []*measure.Audit // Of each cluster, in the order of All.
}

// startFloor starts the floor, and returns when its watches run. It runs until the test ends.
func (b *podsRig) startFloor(t *testing.T) {
	var arguments []string
	f := &floorProcess{command: exec.Command(os.Args[0]), ended: make(chan struct{})}
	for i, cluster := range b.All() {
		if i > 0 {
			arguments = append(arguments, cluster.ID)
		}
		arguments = append(arguments, b.floorKubeconfig(t, cluster))
		f.audits = append(f.audits, measure.NewAuditOf(floorAgent, cluster.ID, cluster.AuditLog()))
	}
	f.command.Env = append(os.Environ(), asFloor+"="+strings.Join(arguments, ","))
	f.command.Stderr = os.Stderr
	begun, err := f.command.StdoutPipe()
	must(t, err, f.command.Start())
	_, err = begun.Read(make([]byte, 1))
	must(t, err)
	go func() {
		_ = f.command.Wait()
		close(f.ended)
	}()
	t.Cleanup(func() {
		must(t, f.failed(), f.command.Process.Signal(syscall.SIGTERM))
		<-f.ended
	})
	b.floor = f
}

// failed returns an error if the floor has ended. The floor has printed why.
func (f *floorProcess) failed() error {
	select {
	case <-f.ended:
		return fmt.Errorf("the floor has ended: %s", f.command.ProcessState)
	default:
		return nil
	}
}

// floorKubeconfig creates an account for the floor with all rights, and writes its kubeconfig to a file. It
// has a token, like the manager.
func (b *podsRig) floorKubeconfig(t *testing.T, cluster *rig.Cluster) string {
	account := metav1.ObjectMeta{Namespace: floorNamespace, Name: "floor"}
	must(t, cluster.Admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: account}))
	must(t, cluster.Admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	raw, err := cluster.KubeconfigFor(t.Context(), account.Namespace, account.Name, rig.TokenLifetime)
	must(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(file, raw, 0o600))
	return file
}

// runFloor runs the floor in its process. It writes a line when its watches run, and ends on SIGTERM.
func runFloor(value string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	arguments := strings.Split(value, ",")
	consumer, err := floorClients(arguments[0])
	f := floor.Floor{Consumer: consumer, Namespace: floorNamespace, Nodes: map[string]int{}}
	for i := 1; i < len(arguments); i += 2 {
		f.Nodes[floorNodeName(arguments[i])] = len(f.Providers)
		provider, failed := floorClients(arguments[i+1])
		f.Providers, err = append(f.Providers, provider), errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	return f.Run(ctx, func() { fmt.Println("watching") })
}

func floorClients(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = floorAgent
	return kubernetes.NewForConfig(cheap(config))
}

// cheap makes a client speak protobuf, without a rate limit.
func cheap(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	return config
}
