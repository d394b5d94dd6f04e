package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// DefaultPort is the port of kubelets.
const DefaultPort = 10250

// headerTimeout is how long a client may take to send the header of a request.
const headerTimeout = 10 * time.Second

// idleTimeout is how long a connection without a stream stays open between two requests.
const idleTimeout = 30 * time.Second

// mostConnections limits the open connections: one for each stream, and as many others. Further ones wait in the
// operating system's queue until another one ends. An unknown client may send one request, and holds a connection
// only until the time-outs of the TLS handshake and of the header.
const mostConnections = 2 * mostInAll

// Options say how the kubelet API is served.
type Options struct {
	// Address is the address at which the consumer's API server reaches this manager: an IP address, or a
	// name that it can resolve. Empty: the kubelet API is not served.
	Address string
	// Port is the port on all addresses of this process. Nodes show it.
	Port int
	// Certificate says where the serving certificate comes from. Default: SelfSigned.
	Certificate CertificateMode
	// CertificateFile and KeyFile are for File, in PEM.
	CertificateFile, KeyFile string
	// Signer is for CSR. Default: DefaultSigner.
	Signer string
	// ClientCAFile has the authority of client certificates, in PEM. Default: the authority in ConfigMap
	// kube-system/extension-apiserver-authentication.
	ClientCAFile string
}

// Validate returns what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case o.Address == "":
		return nil
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("the port of the kubelet API (--kubelet-port) must be between 1 and 65535, and is %d", o.Port)
	case o.Certificate == File && (o.CertificateFile == "" || o.KeyFile == ""):
		return errors.New("--kubelet-certificate=file needs --kubelet-certificate-file and --kubelet-key-file")
	case o.Certificate != File && (o.CertificateFile != "" || o.KeyFile != ""):
		return errors.New("--kubelet-certificate-file and --kubelet-key-file need --kubelet-certificate=file")
	}
	return nil
}

// Server serves the kubelet API as long as it runs, and ends streams that must end.
type Server struct {
	*Follower
	port, most  int
	certificate servingCertificate
	authority   clientCA
}

// NewServer returns a server that asks the consumer of config who may do what. bindings is the consumer's
// cache. It sends no request before it is started.
func NewServer(o Options, config *rest.Config, world *PodReader, bindings cache.Cache) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("a client for the kubelet API: %w", err)
	}
	ask, err := newReviews(config)
	if err != nil {
		return nil, err
	}
	certificate, err := newServingCertificate(o, clients)
	if err != nil {
		return nil, err
	}
	authority, err := newClientCA(o.ClientCAFile, clients)
	if err != nil {
		return nil, fmt.Errorf("the authority of the clients of the kubelet API: %w", err)
	}
	access, err := newDelegated(authority, ask)
	if err != nil {
		return nil, err
	}
	handler := &Handler{Pods: world, Access: access, resources: newResources(world, clock.RealClock{})}
	follower := &Follower{Handler: handler, Reader: world, Bindings: bindings}
	return &Server{Follower: follower, port: o.Port, most: mostConnections, certificate: certificate, authority: authority}, nil
}

// NeedLeaderElection returns true: the nodes show the address of the elected replica.
func (*Server) NeedLeaderElection() bool { return true }

// Start serves until ctx ends, which ends all streams.
func (s *Server) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("kubelet")
	ctx, end := context.WithCancel(log.IntoContext(ctx, logger))
	defer end()
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("listening for the kubelet API (--kubelet-port): %w", err)
	}
	if err := s.Follow(ctx); err != nil {
		_ = listener.Close()
		return err
	}
	go s.authority.Run(ctx, 1)
	go func() {
		if err := s.certificate.keep(ctx); err != nil {
			logger.Error(err, "the serving certificate of the kubelet API is not renewed")
		}
	}()
	return s.serve(ctx, listener)
}

// serve answers requests on a listener until ctx ends.
func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.Handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.FromContext(ctx).V(1)), slog.LevelInfo),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: s.certificate.get,
			// The authenticator verifies the certificate, with the authority as it is then.
			ClientAuth: tls.RequestClientCert,
			// A connection of HTTP/2 cannot be handed over to a stream.
			NextProtos: []string{"http/1.1"},
		},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ServeTLS(netutil.LimitListener(listener, s.most), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the kubelet API: %w", err)
	}
	return nil
}
