package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// stream is a connection to a pod through the consumer's API server.
type stream struct {
	httpstream.Connection
	header http.Header
}

// dial opens a connection. It ends with ctx.
func dial(ctx context.Context, config *rest.Config, at *url.URL, protocol string) (*stream, func(), error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"} // SPDY is an upgrade of HTTP/1.1.
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	connection, _, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: transport}, request, protocol)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	return &stream{connection, http.Header{}}, func() { stop(); _ = connection.Close() }, nil
}

// open opens a stream of that type.
func (s *stream) open(kind string) (httpstream.Stream, error) {
	s.header.Set(corev1.StreamType, kind)
	return s.CreateStream(s.header)
}

// command runs a command in a container, and returns what it prints.
func command(ctx context.Context, config *rest.Config, clients kubernetes.Interface, pod *corev1.Pod, words ...string) (string, error) {
	options := &corev1.PodExecOptions{Container: pod.Spec.Containers[0].Name, Command: words, Stdout: true, Stderr: true}
	at := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").VersionedParams(options, scheme.ParameterCodec).URL()
	s, end, err := dial(ctx, config, at, "v4.channel.k8s.io")
	if err != nil {
		return "", err
	}
	defer end()
	var streams [3]httpstream.Stream
	for i, kind := range []string{corev1.StreamTypeError, corev1.StreamTypeStdout, corev1.StreamTypeStderr} {
		if streams[i], err = s.open(kind); err != nil {
			return "", err
		}
	}
	stderr := make(chan []byte, 1)
	go func() {
		said, _ := io.ReadAll(streams[2]) // It only explains a failure.
		stderr <- said
	}()
	out, err := io.ReadAll(streams[1])
	if err != nil {
		return "", err
	}
	answer, err := io.ReadAll(streams[0])
	if err != nil {
		return "", err
	}
	status := metav1.Status{}
	if err := json.Unmarshal(answer, &status); err != nil {
		return "", fmt.Errorf("the end of the command is unknown: %q", answer)
	}
	if status.Status != metav1.StatusSuccess {
		return string(out), fmt.Errorf("%s %s", status.Message, bytes.TrimSpace(<-stderr))
	}
	return string(out), nil
}

// forward sends an HTTP request to a port of a pod, and returns the answer.
func forward(ctx context.Context, config *rest.Config, clients kubernetes.Interface, pod *corev1.Pod, port, path string) (string, error) {
	at := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	s, end, err := dial(ctx, config, at, "portforward.k8s.io")
	if err != nil {
		return "", err
	}
	defer end()
	s.header.Set(corev1.PortHeader, port)
	s.header.Set(corev1.PortForwardRequestIDHeader, "0")
	failure, err := s.open(corev1.StreamTypeError)
	if err != nil {
		return "", err
	}
	_ = failure.Close() // The client writes nothing there.
	data, err := s.open(corev1.StreamTypeData)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(data, "GET "+path+" HTTP/1.0\r\n\r\n"); err != nil {
		return "", err
	}
	answer := make([]byte, len("HTTP/1.0 200"))
	if _, err := io.ReadFull(data, answer); err == nil {
		return string(answer), nil
	} else if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	said, err := io.ReadAll(failure)
	if err == nil {
		err = fmt.Errorf("port %s does not answer: %s", port, bytes.TrimSpace(said))
	}
	return "", err
}
