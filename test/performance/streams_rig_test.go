//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/player"
)

// streamNamespaces have a pod in each provider. They are enough for all followers: a pod may have 16, and a
// namespace 32.
const streamNamespaces = 8

// streamSite has pods in two providers. Each provider has a node with a played kubelet API.
type streamSite struct {
	*site
	players []*player.Kubelet
	pods    []streamPod
	clients map[*rig.Cluster]*streamClient
	files   string
}

type streamPod struct {
	namespace, name string
	provider        *rig.Cluster
}

// streamEnd is where a pod is addressed: in the consumer, or straight in the provider.
type streamEnd struct {
	cluster   *rig.Cluster
	namespace string
}

// streamClient opens a connection for each stream, like the processes of many users.
type streamClient struct {
	config *rest.Config
	kubernetes.Interface
}

func startStreams(t *testing.T) *streamSite {
	s := &streamSite{site: startSite(t, "streams", 0, providers[:2]), clients: map[*rig.Cluster]*streamClient{}, files: t.TempDir()}
	s.site.kubelet = true
	for _, c := range s.All() {
		config := c.Config()
		config.NextProtos = []string{"http/1.1"}
		clients, err := kubernetes.NewForConfig(config)
		must(t, err)
		s.clients[c] = &streamClient{config, clients}
	}
	s.start(t)
	must(t, rig.Eventually(t.Context(), patience, s.Bound))
	s.offload(t, 0, streamNamespaces)
	for i, provider := range s.Providers {
		s.players = append(s.players, player.Start())
		t.Cleanup(s.players[i].Stop)
		must(t, provider.Admin.Create(t.Context(), playedNode(s.players[i].Port())))
	}
	for i := range streamNamespaces * len(s.Providers) {
		provider := s.Providers[i%len(s.Providers)]
		pod := offloadedPod(rig.Namespace(i/len(s.Providers)).GetName(), provider.ID, i)
		must(t, s.Consumer.Admin.Create(t.Context(), pod))
		s.pods = append(s.pods, streamPod{pod.Namespace, pod.Name, provider})
	}
	for _, pod := range s.pods {
		must(t, rig.Eventually(t.Context(), streamPatience, func(ctx context.Context) error { return s.place(ctx, pod) }))
	}
	return s
}

const playedNodeName = "played"

func playedNode(port int32) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: playedNodeName}, Status: corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
	}}
}

// place binds the remote pod to the node, and returns an error until the local one can be reached.
func (s *streamSite) place(ctx context.Context, pod streamPod) error {
	there := s.ends(pod, false)
	remote := &corev1.Pod{}
	if err := there.cluster.Admin.Get(ctx, client.ObjectKey{Namespace: there.namespace, Name: pod.name}, remote); err != nil {
		return err
	}
	if remote.Spec.NodeName == "" {
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: playedNodeName}}
		if err := there.cluster.Admin.SubResource("binding").Create(ctx, remote, binding); err != nil {
			return err
		}
	}
	for _, relayed := range []bool{false, true} {
		if err := s.forwardTo(ctx, pod, relayed); err != nil {
			return err
		}
	}
	return nil
}

// ends returns where a pod is addressed.
func (s *streamSite) ends(pod streamPod, relayed bool) streamEnd {
	if relayed {
		return streamEnd{s.Consumer, pod.namespace}
	}
	return streamEnd{pod.provider, pod.namespace + "-" + consumerID}
}

// pod returns one of the pods, in turn.
func (s *streamSite) pod(i int) streamPod { return s.pods[i%len(s.pods)] }

// streamCount is the number of open streams.
type streamCount struct {
	// played is the number of requests that the kubelets serve, and connections of the manager's connections
	// to the providers.
	played, connections int
}

func (s *streamSite) open(t *testing.T) streamCount {
	count := streamCount{}
	connections := s.connections(t)
	for i, one := range s.players {
		count.played += one.Open()
		count.connections += connections[s.Providers[i].ID]
	}
	return count
}

// awaitEnd waits until no more is open than before.
func (s *streamSite) awaitEnd(t *testing.T, before streamCount) {
	if err := rig.Eventually(t.Context(), streamPatience, func(context.Context) error {
		now := s.open(t)
		if more := max(now.played-before.played, now.connections-before.connections); more > 0 {
			return fmt.Errorf("%d streams are still open: %+v, and before %+v", more, now, before)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// follow follows the logs of a pod, and returns after the first line.
func (s *streamSite) follow(ctx context.Context, pod streamPod, relayed bool) (io.ReadCloser, error) {
	end := s.ends(pod, relayed)
	logs, err := s.clients[end.cluster].CoreV1().Pods(end.namespace).GetLogs(pod.name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		return nil, err
	}
	// Read only this line, so that later lines stay unread.
	for piece := make([]byte, 1); piece[0] != '\n'; {
		if _, err := io.ReadFull(logs, piece); err != nil {
			return nil, errors.Join(err, logs.Close())
		}
	}
	return logs, nil
}

func (s *streamSite) idleFollower(ctx context.Context, i int) (end func() error, err error) {
	logs, err := s.follow(ctx, s.pod(i), true)
	if err != nil {
		return nil, err
	}
	return logs.Close, nil
}

// followAll sends all followers their logs at once, and returns the effort.
func (s *streamSite) followAll(t *testing.T, relayed bool) effort {
	all := make([]io.ReadCloser, followers)
	must(t, rig.ForEach(t.Context(), followers, func(ctx context.Context, i int) (err error) {
		all[i], err = s.follow(ctx, s.pod(i), relayed)
		return err
	}))
	errs := make([]error, len(all))
	took := s.timed(t, func() {
		for _, one := range s.players {
			one.Release()
		}
		var group sync.WaitGroup
		for i, logs := range all {
			group.Go(func() {
				n, err := io.Copy(io.Discard, logs)
				if err == nil && n != player.FollowedSize {
					err = fmt.Errorf("a follower got %d bytes, want %d", n, player.FollowedSize)
				}
				errs[i] = errors.Join(err, logs.Close())
			})
		}
		group.Wait()
	})
	must(t, errs...)
	return took
}

// dial opens a port-forward stream.
func (s *streamSite) dial(pod streamPod, relayed bool) (httpstream.Connection, error) {
	end := s.ends(pod, relayed)
	clients := s.clients[end.cluster]
	transport, upgrader, err := spdy.RoundTripperFor(clients.config)
	if err != nil {
		return nil, err
	}
	url := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(end.namespace).Name(pod.name).SubResource("portforward").URL()
	connection, _, err := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url).Dial("portforward.k8s.io")
	return connection, err
}

func (s *streamSite) idleForward(_ context.Context, i int) (end func() error, err error) {
	connection, err := s.dial(s.pod(i), true)
	if err != nil {
		return nil, err
	}
	return connection.Close, nil
}

// forwardOnce makes a connection through its own port-forward.
func (s *streamSite) forwardOnce(ctx context.Context, i int) error {
	return s.forwardTo(ctx, s.pod(i), true)
}

func (s *streamSite) forwardTo(ctx context.Context, pod streamPod, relayed bool) error {
	connection, err := s.dial(pod, relayed)
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	header := http.Header{}
	header.Set(corev1.PortHeader, "8080")
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	if _, err := connection.CreateStream(header); err != nil {
		return err
	}
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(header)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(data)
	if err == nil && string(said) != "port 8080\n" {
		err = fmt.Errorf("the port said %q", said)
	}
	return err
}
