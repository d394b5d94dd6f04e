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

// Path is where the webhook is served. The manifest has it.
const Path = "/prepare-pods"

// DefaultPort is the one that the manifest names.
const DefaultPort = 9443

// Options say how the webhook is served.
type Options struct {
	Mode Mode
	// Port is the one at all addresses of this process. Default: DefaultPort.
	Port int
	// CertDir is where Secret v1alpha1.WebhookSecret of the manager's namespace is
	// mounted, with the serving certificate. Default: the folder that the manifest names.
	CertDir string
}

// Validate returns what is wrong with the first option that is.
func (o Options) Validate() error {
	if o.Port < 1 || o.Port > 65535 {
		return fmt.Errorf("--webhook-port must be between 1 and 65535, and is %d", o.Port)
	}
	return o.Mode.Validate()
}

// DefaultCertDir is the folder that the manifest names.
func DefaultCertDir() string {
	return filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
}

// Serve has each replica serve the webhook, elected or not, once it has a certificate that
// the API server trusts. Until then /readyz says so. everywhere is a manager that runs in
// all replicas what is added to it; namespace is the manager's own.
func Serve(everywhere ctrl.Manager, o Options, namespace string) error {
	if o.CertDir == "" {
		o.CertDir = DefaultCertDir()
	}
	server := webhook.NewServer(webhook.Options{Port: o.Port, CertDir: o.CertDir, TLSOpts: []func(*tls.Config){
		func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, // Streams of HTTP/2 are of no use, and can be abused.
	}})
	server.Register(Path, &admission.Webhook{
		Handler: &handler{offloadings: everywhere.GetClient(), decoder: admission.NewDecoder(everywhere.GetScheme())},
		// The answer to a panic would refuse the pod; without one, it is created.
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
		// A replica that is not elected has no other use for them.
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
