package podadmission

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Path is the path of the webhook. The manifest has it, too.
const Path = "/prepare-pods"

// DefaultPort is the port in the manifest.
const DefaultPort = 9443

// Options say how the webhook is served.
type Options struct {
	Mode Mode
	// Port is the port on all addresses of this process. Default: DefaultPort.
	Port int
	// CertDir is where Secret v1alpha1.WebhookSecret of the manager's namespace is mounted, with the serving
	// certificate. Default: the folder in the manifest.
	CertDir string
}

// Validate returns what is wrong with the first invalid option.
func (o Options) Validate() error {
	if o.Port < 1 || o.Port > 65535 {
		return fmt.Errorf("--webhook-port must be between 1 and 65535, and is %d", o.Port)
	}
	return o.Mode.Validate()
}

// DefaultCertDir is the folder in the manifest.
func DefaultCertDir() string {
	return filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
}

// Serve makes each replica serve the webhook, elected or not, once it has a certificate that the API server
// trusts. Until then /readyz fails. everywhere is a manager that runs what is added to it in all replicas.
// namespace is the manager's namespace.
func Serve(everywhere ctrl.Manager, o Options, namespace string) error {
	if o.CertDir == "" {
		o.CertDir = DefaultCertDir()
	}
	server := webhook.NewServer(webhook.Options{Port: o.Port, CertDir: o.CertDir, TLSOpts: []func(*tls.Config){
		func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, // Streams of HTTP/2 are not needed, and can be abused.
	}})
	server.Register(Path, &admission.Webhook{
		Handler: &preparer{offloadings: everywhere.GetClient(), decoder: admission.NewDecoder(everywhere.GetScheme())},
		// The answer to a panic would refuse the pod. Without an answer, the pod is created.
		RecoverPanic: ptr.To(false),
	})
	ready, err := rotate(everywhere, o.CertDir, namespace)
	if err != nil {
		return fmt.Errorf("adding what renews the certificate of the webhook: %w", err)
	}
	if err := everywhere.AddReadyzCheck("webhook", server.StartedChecker()); err != nil {
		return err
	}
	return everywhere.Add(manager.RunnableFunc(func(ctx context.Context) error {
		// In a replica that is not elected, nothing else reads them.
		if _, err := everywhere.GetCache().GetInformer(ctx, &v1alpha1.NamespaceOffloading{}); err != nil {
			return fmt.Errorf("reading the NamespaceOffloadings for the webhook: %w", err)
		}
		select {
		case <-ready:
			return server.Start(ctx)
		case <-ctx.Done():
			return nil
		}
	}))
}
