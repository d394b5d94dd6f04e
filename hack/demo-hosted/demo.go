package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/internal/hosted/operator"
	"github.com/spillway-io/spillway/test/clusters"
)

//go:embed manifests/*.yaml
var manifests embed.FS

const systemNamespace = operator.DefaultNamespace

// demo is one run.
type demo struct {
	root, dir string
	begin     time.Time
	clouds    clouds
	server    *envtest.Environment
	// admin talks to the API server as its administrator.
	admin    client.Client
	operator *exec.Cmd
}

func newDemo() (*demo, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	d := &demo{root: root, dir: filepath.Join(root, "bin", "demo-hosted"), begin: time.Now()}
	if _, err := os.Stat(filepath.Join(root, "bin", "hosted")); err != nil {
		return nil, fmt.Errorf("bin/hosted is missing: run `make demo-hosted`, which builds it first (%w)", err)
	}
	return d, errors.Join(os.RemoveAll(d.dir), os.MkdirAll(d.dir, 0o755))
}

func (d *demo) kubeconfig() string  { return filepath.Join(d.dir, "kubeconfig") }
func (d *demo) certificate() string { return filepath.Join(d.dir, "clouds.pem") }
func (d *demo) log() string         { return filepath.Join(d.dir, "hosted.log") }

func (d *demo) startAPIServer(context.Context) error {
	d.server = &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(d.root, "config", "hosted", "crd", "bases")}, ErrorIfCRDPathMissing: true,
		BinaryAssetsDirectory: filepath.Join(d.root, "bin", "kube"),
	}
	config, err := d.server.Start()
	if err != nil {
		return fmt.Errorf("starting an API server: %w", err)
	}
	if d.admin, err = client.New(config, client.Options{Scheme: operator.Scheme()}); err != nil {
		return err
	}
	d.say("an API server runs, which knows the kind HostedCluster")
	return os.WriteFile(d.kubeconfig(), d.server.KubeConfig, 0o600)
}

// install makes the namespace, and the Secrets with credentials for the clouds.
func (d *demo) install(ctx context.Context) error {
	google, err := d.googleAccount()
	if err != nil {
		return err
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}}
	for name, values := range map[string]map[string]string{
		"aws":    {"accessKeyID": "demo", "secretAccessKey": "demo"},
		"azure":  {"tenantID": "tenant", "subscriptionID": "sub", "clientID": "demo", "clientSecret": "demo"},
		"google": {"credentials.json": google},
	} {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}, StringData: values})
	}
	for _, object := range objects {
		if err := d.admin.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// googleAccount is the key of a Google service account, as Google's console gives it.
func (d *demo) googleAccount() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "acme", "private_key_id": "1", "client_email": "demo@acme.iam.gserviceaccount.com", "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})), "token_uri": d.clouds.tokens.URL + "/google/token",
	})
	return string(text), err
}

// startOperator runs bin/hosted, which trusts the clouds' certificate, and is told where
// they are.
func (d *demo) startOperator(context.Context) error {
	log, err := os.Create(d.log())
	if err != nil {
		return err
	}
	defer log.Close()
	d.operator = exec.Command(filepath.Join(d.root, "bin", "hosted"), "--kubeconfig", d.kubeconfig(), "--namespace", systemNamespace,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--endpoints", fmt.Sprintf("eks=%s,aks=%s,entra=%s,gke=%s", d.clouds.eksServer.URL, d.clouds.aksServer.URL, d.clouds.tokens.URL, d.clouds.gkeServer.URL))
	d.operator.Env = append(os.Environ(), "SSL_CERT_FILE="+d.certificate())
	d.operator.Stdout, d.operator.Stderr = log, log
	// It ends with this process, however that ends.
	d.operator.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := d.operator.Start(); err != nil {
		return fmt.Errorf("starting bin/hosted: %w", err)
	}
	d.say("bin/hosted runs; its log is %s", d.relative(d.log()))
	return nil
}

func (d *demo) end() error {
	var errs []error
	if d.operator != nil && d.operator.Process != nil {
		errs = append(errs, d.operator.Process.Signal(syscall.SIGTERM))
		_ = d.operator.Wait() // How it ended does not matter.
	}
	if d.server != nil {
		errs = append(errs, d.server.Stop())
	}
	d.clouds.stop()
	return errors.Join(errs...)
}

// relative shortens a path for people, who are in the repository.
func (d *demo) relative(path string) string {
	if short, err := filepath.Rel(d.root, path); err == nil {
		return short
	}
	return path
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("[%3.0fs] %s\n", time.Since(d.begin).Seconds(), fmt.Sprintf(format, args...))
}

// kubectl returns what it prints.
func (d *demo) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(d.root, "bin", "kube", "kubectl"), append([]string{"--kubeconfig", d.kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// show runs kubectl as a user would, and prints both.
func (d *demo) show(ctx context.Context, args ...string) error {
	out, err := d.kubectl(ctx, "", args...)
	if err != nil {
		return err
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if strings.ContainsAny(arg, ` {}"*`) {
			quoted[i] = "'" + arg + "'"
		}
	}
	fmt.Printf("$ kubectl %s\n%s\n", strings.Join(quoted, " "), strings.TrimRight(out, "\n"))
	return nil
}
