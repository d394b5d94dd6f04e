package clusters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const testTimeout = 5 * time.Minute

// up starts a cluster, and deletes it after the test.
func up(ctx context.Context, t *testing.T, o Options) *Cluster {
	t.Helper()
	o.Log = testWriter{t}
	c, err := Up(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// By then the context of the test has ended.
		if err := c.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		if running, err := c.Running(); err != nil || len(running) > 0 {
			t.Errorf("after Down: running %v, error %v", running, err)
		}
	})
	return c
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func setUp(t *testing.T) (context.Context, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts control planes")
	}
	if err := CheckBinaries(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx, t.TempDir()
}

func TestWholeCluster(t *testing.T) {
	ctx, dir := setUp(t)
	c := up(ctx, t, Options{
		Name: "whole", Dir: dir, Components: AllComponents(), NodeGrace: 8 * time.Second, PodCIDR: "10.12.0.0/24", PlayIngresses: true,
		Nodes: []Node{{Name: "kwok-1", CPU: "4", Labels: map[string]string{"zone": "a"}}},
	})
	t.Run("the node is as asked for", func(t *testing.T) {
		node, err := c.client.CoreV1().Nodes().Get(ctx, "kwok-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node.Labels["zone"] != "a" || node.Labels["type"] != "kwok" || node.Status.Allocatable.Cpu().String() != "4" {
			t.Errorf("unexpected node: labels %v, allocatable %v", node.Labels, node.Status.Allocatable)
		}
	})
	t.Run("a pod runs", func(t *testing.T) { podRuns(ctx, t, c) })
	t.Run("an Ingress has an address", func(t *testing.T) { ingressIsServed(ctx, t, c) })
	t.Run("kwok leaves other nodes alone", func(t *testing.T) { virtualNodeIsLeftAlone(ctx, t, c) })
	t.Run("everything listens on localhost only", func(t *testing.T) { listensLocally(ctx, t, c) })
	t.Run("the credentials of a ServiceAccount", func(t *testing.T) { serviceAccount(ctx, t, c) })
	t.Run("all components survive a hanging API server", func(t *testing.T) { pauseAndResume(ctx, t, c) })
	t.Run("all components survive a restart of the API server", func(t *testing.T) { killAndStart(ctx, t, c) })
	t.Run("a pod runs afterwards", func(t *testing.T) { podRuns(ctx, t, c) })
}

func podRuns(ctx context.Context, t *testing.T, c *Cluster) {
	pod, err := c.client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, func(ctx context.Context) error {
		got, err := c.client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && got.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("pod %s is %s on node %q", got.Name, got.Status.Phase, got.Spec.NodeName)
		}
		if err == nil && !strings.HasPrefix(got.Status.PodIP, "10.12.0.") {
			err = fmt.Errorf("pod %s has the address %q, which is not of the range", got.Name, got.Status.PodIP)
		}
		return err
	})
}

func ingressIsServed(ctx context.Context, t *testing.T, c *Cluster) {
	ingresses := c.client.NetworkingV1().Ingresses("default")
	for _, class := range []string{"public", "other"} {
		_, err := ingresses.Create(ctx, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressSpec{
			IngressClassName: &class, DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	addresses := func(ctx context.Context, name string) ([]networkingv1.IngressLoadBalancerIngress, error) {
		got, err := ingresses.Get(ctx, name, metav1.GetOptions{})
		return got.Status.LoadBalancer.Ingress, err
	}
	eventually(ctx, t, func(ctx context.Context) error {
		got, err := addresses(ctx, "public")
		if err == nil && (len(got) != 1 || got[0].IP != "203.0.113.10") {
			err = fmt.Errorf("the Ingress has the addresses %v", got)
		}
		return err
	})
	if got, err := addresses(ctx, "other"); err != nil || len(got) > 0 {
		t.Errorf("an Ingress of another class has the addresses %v: %v", got, err)
	}
}

// virtualNodeIsLeftAlone creates a node as Spillway does, with a Lease that expires. The controller manager
// must mark it as silent, which it would not if kwok renewed the Lease. Also kwok must not have written a
// status.
func virtualNodeIsLeftAlone(ctx context.Context, t *testing.T, c *Cluster) {
	nodes := c.client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "virtual", Labels: map[string]string{"spillway.io/node-type": "virtual"}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "Test",
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now, seconds := metav1.NowMicro(), int32(8)
	_, err = c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &node.Name, RenewTime: &now, LeaseDurationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, func(ctx context.Context) error {
		got, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range got.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionUnknown {
				return nil
			}
		}
		return fmt.Errorf("the virtual node is not yet unknown: %v", got.Status.Conditions)
	})
	if lease, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	} else if *lease.Spec.HolderIdentity != node.Name {
		t.Errorf("kwok took the lease of the virtual node: %+v", lease.Spec)
	}
	kwokNode, err := nodes.Get(ctx, "kwok-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(kwokNode.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if kwokNode.Status.Conditions[i].Status != corev1.ConditionTrue {
		t.Errorf("kwok did not keep its own node alive: %+v", kwokNode.Status.Conditions[i])
	}
}

// listensLocally tries every reserved port on the machine's other addresses.
func listensLocally(ctx context.Context, t *testing.T, c *Cluster) {
	register, err := readPortRegister(portRegisterFile())
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for port, dir := range register {
		if dir != c.dir {
			continue
		}
		checked++
		if conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port)); err != nil {
			t.Errorf("nothing listens on port %s: %v", port, err)
		} else {
			_ = conn.Close()
		}
		for _, address := range addresses {
			ip, _, _ := net.ParseCIDR(address.String())
			if ip == nil || ip.IsLoopback() {
				continue
			}
			dialer := net.Dialer{Timeout: time.Second}
			if conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port)); err == nil {
				_ = conn.Close()
				t.Errorf("port %s is open on %s", port, ip)
			}
		}
	}
	if checked != portsPerCluster {
		t.Errorf("want %d ports in the register, got %d", portsPerCluster, checked)
	}
}

func serviceAccount(ctx context.Context, t *testing.T, c *Cluster) {
	raw, err := c.KubeconfigFor(ctx, "default", "default", 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:default:default") {
		t.Errorf("want a refusal that names the ServiceAccount, got %v", err)
	}
}

func pauseAndResume(ctx context.Context, t *testing.T, c *Cluster) {
	if err := c.PauseAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.checkAPIServer(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused API server must hang, got %v", err)
	}
	if err := c.ResumeAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
}

// killAndStart keeps the API server down for longer than the leases of leader election (15s), which used to
// end the other components.
func killAndStart(ctx context.Context, t *testing.T, c *Cluster) {
	if err := c.KillAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.checkAPIServer(ctx); err == nil {
		t.Error("the API server answers after it was killed")
	}
	err := c.watchFor(ctx, 16*time.Second)
	if err != nil {
		t.Error(err)
	}
	if err := c.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Logs + "/kube-apiserver.previous.log"); err != nil {
		t.Errorf("the log from before the kill is gone: %v", err)
	}
}

// watchFor returns an error if a component that runs now ends within d.
func (c *Cluster) watchFor(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return c.watchForEnd(ctx)
}

func eventually(ctx context.Context, t *testing.T, try func(context.Context) error) {
	t.Helper()
	if err := poll(ctx, time.Minute, try); err != nil {
		t.Fatal(err)
	}
}
