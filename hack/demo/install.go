package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

//go:embed manifests/*.yaml
var samples embed.FS

// sampleFiles are in the order in which a user would apply them.
var sampleFiles = []string{bindingsFile, "manifests/team-a.yaml", "manifests/team-b.yaml"}

// appFiles are applied after the namespaces are offloaded. Pods that were created before would stay in the
// consumer.
var appFiles = []string{"manifests/web.yaml", "manifests/apps.yaml", "manifests/db.yaml"}

// euFile is applied in provider eu, and rightsFile in the consumer.
const (
	euFile     = "manifests/eu.yaml"
	rightsFile = "manifests/rights.yaml"
)

// install applies what is shipped. In the consumer it leaves out the Deployment, because there are no images
// here.
func (d *demo) install(ctx context.Context) error {
	d.say("installing CRDs, RBAC and policies in the consumer")
	raw, err := os.ReadFile(d.manifest("install.yaml"))
	if err != nil {
		return fmt.Errorf("reading what to install: %w", err)
	}
	raw, err = withoutKind(raw, "Deployment")
	if err != nil {
		return fmt.Errorf("install.yaml: %w", err)
	}
	if err := d.apply(ctx, consumer, raw); err != nil {
		return fmt.Errorf("applying install.yaml: %w", err)
	}
	_, err = d.kubectl(ctx, consumer, nil, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	if err != nil {
		return fmt.Errorf("waiting for the CRDs: %w", err)
	}
	if err := d.applyFiles(ctx, []string{rightsFile}); err != nil {
		return err
	}
	raw, err = os.ReadFile(d.manifest("provider.yaml"))
	if err != nil {
		return fmt.Errorf("reading what to install in providers: %w", err)
	}
	for _, name := range providers {
		d.say("installing the consumer's identity and role in provider %s", name)
		if err := d.apply(ctx, name, raw); err != nil {
			return fmt.Errorf("applying provider.yaml: %w", err)
		}
	}
	if err := d.serveRoutes(ctx); err != nil {
		return err
	}
	return d.openEU(ctx)
}

// openEU does what the administrator of provider eu does, so that consumers may have Ingresses, HTTPRoutes and
// volumes there.
func (d *demo) openEU(ctx context.Context) error {
	raw, err := samples.ReadFile(euFile)
	if err != nil {
		return err
	}
	if err := d.apply(ctx, "eu", raw); err != nil {
		return fmt.Errorf("applying hack/demo/%s: %w", euFile, err)
	}
	_, err = d.kubectl(ctx, "eu", nil, "patch", "configmap", offloadingv1alpha1.LimitsName, "-n", providerNamespace, "--type=merge",
		"-p", `{"data":{"ingressClasses":"public","gateways":"infra/public","ingressHosts":"*.example.com","storageClasses":"standard"}}`)
	return err
}

// handOverCredentials does what the administrators of the providers and the platform engineer do. It puts a
// kubeconfig of the provider's ServiceAccount into a Secret of the consumer.
func (d *demo) handOverCredentials(ctx context.Context) error {
	for _, name := range providers {
		kubeconfig, err := d.clusters[name].KubeconfigFor(ctx, providerNamespace, providerServiceAccount, tokenLifetime)
		if err != nil {
			return err
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: kubeconfigSecret(name)}}
		_, err = controllerutil.CreateOrUpdate(ctx, d.consumer, secret, func() error {
			secret.Data = map[string][]byte{offloadingv1alpha1.DefaultKubeconfigKey: kubeconfig}
			return nil
		})
		if err != nil {
			return fmt.Errorf("putting the kubeconfig of provider %s into Secret %s of the consumer: %w", name, secret.Name, err)
		}
	}
	return nil
}

func (d *demo) applySamples(ctx context.Context) error {
	d.say("binding eu and us; offloading team-a to region eu, and team-b everywhere")
	return d.reapply(ctx)
}

func (d *demo) applyApps(ctx context.Context) error {
	d.say("deploying what the teams run")
	return d.applyFiles(ctx, appFiles)
}

func (d *demo) reapply(ctx context.Context) error {
	if err := d.applyFiles(ctx, sampleFiles); err != nil {
		return err
	}
	return d.setBack(ctx)
}

// applyFiles applies embedded manifests in the consumer.
func (d *demo) applyFiles(ctx context.Context, files []string) error {
	for _, file := range files {
		raw, err := samples.ReadFile(file)
		if err != nil {
			return err
		}
		if err := d.apply(ctx, consumer, raw); err != nil {
			return fmt.Errorf("applying hack/demo/%s: %w", file, err)
		}
	}
	return nil
}

func (d *demo) apply(ctx context.Context, cluster string, manifests []byte) error {
	_, err := d.kubectl(ctx, cluster, manifests, "apply", "--server-side", "--force-conflicts", "--field-manager=demo", "-f", "-")
	return err
}

// kubectl returns the standard output. Its standard error is in err.
func (d *demo) kubectl(ctx context.Context, cluster string, stdin []byte, args ...string) (string, error) {
	args = append([]string{"--kubeconfig", d.kubeconfig(cluster)}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(d.root, "bin", "kube", "kubectl"), args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s on cluster %s: %w\n%s", args[2], cluster, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// withoutKind removes the objects of one kind from a YAML stream.
func withoutKind(manifests []byte, kind string) ([]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	var kept [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return bytes.Join(kept, []byte("\n---\n")), nil
		}
		if err != nil {
			return nil, fmt.Errorf("splitting YAML documents: %w", err)
		}
		var object metav1.TypeMeta
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, fmt.Errorf("parsing a YAML document: %w", err)
		}
		if object.Kind != "" && object.Kind != kind {
			kept = append(kept, document)
		}
	}
}
