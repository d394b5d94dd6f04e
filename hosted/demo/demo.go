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
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/operator"
	"github.com/spillway-io/spillway/test/clusters"
	shipped "github.com/spillway-io/spillway/test/manifests"
)

//go:embed manifests/*.yaml
var manifests embed.FS

const (
	systemNamespace  = operator.DefaultNamespace
	managerNamespace = operator.DefaultManagerNamespace
)

// demo is one run of this program.
type demo struct {
	root, dir string
	begin     time.Time
	clouds    clouds
	server    *envtest.Environment
	// admin talks to the API server as its administrator.
	admin client.Client
	// cluster is the API server of the cluster in EKS. It asks the webhook about tokens.
	cluster *envtest.Environment
	webhook *httptest.Server
	// programs are the programs that run.
	programs []*exec.Cmd
}

func newDemo() (*demo, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	d := &demo{root: root, dir: filepath.Join(root, "bin", "demo-hosted"), begin: time.Now()}
	for _, program := range []string{"hosted", "manager", "kubectl-spillway"} {
		if _, err := os.Stat(filepath.Join(root, "bin", program)); err != nil {
			return nil, fmt.Errorf("bin/%s is missing: run `make demo-hosted`, which builds it first (%w)", program, err)
		}
	}
	return d, errors.Join(os.RemoveAll(d.dir), os.MkdirAll(d.dir, 0o755))
}

func (d *demo) kubeconfig() string  { return filepath.Join(d.dir, "kubeconfig") }
func (d *demo) certificate() string { return filepath.Join(d.dir, "clouds.pem") }

func (d *demo) startAPIServer(context.Context) error {
	d.server = &envtest.Environment{BinaryAssetsDirectory: filepath.Join(d.root, "bin", "kube")}
	config, err := d.server.Start()
	if err != nil {
		return fmt.Errorf("starting an API server: %w", err)
	}
	known := operator.Scheme()
	if err := v1alpha1.AddToScheme(known); err != nil {
		return err
	}
	if d.admin, err = client.New(config, client.Options{Scheme: known}); err != nil {
		return err
	}
	return os.WriteFile(d.kubeconfig(), d.server.KubeConfig, 0o600)
}

// install applies dist/install.yaml and dist/hosted.yaml without their Deployments, and creates the Secrets
// with credentials for the clouds.
func (d *demo) install(ctx context.Context) error {
	for _, folder := range []string{"config/default", "config/hosted"} {
		objects, err := shipped.Kustomized(ctx, folder)
		if err != nil {
			return err
		}
		if err := shipped.Create(ctx, d.admin, shipped.Without(objects, "Deployment")); err != nil {
			return err
		}
	}
	google, err := d.googleAccount()
	if err != nil {
		return err
	}
	var objects []client.Object
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
	d.say("an API server runs, with what make install-yaml writes to dist/install.yaml and dist/hosted.yaml")
	return nil
}

// googleAccount returns the key of a Google service account, in the format of Google's console.
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

// startPrograms runs bin/hosted and bin/manager. bin/hosted trusts the clouds' certificate, and its flags
// name their endpoints. bin/manager knows of no cloud.
func (d *demo) startPrograms(ctx context.Context) error {
	c := &d.clouds
	endpoints := fmt.Sprintf("eks=%[1]s,ec2=%[1]s,aks=%[2]s,entra=%[3]s,gke=%[4]s", c.eksServer.URL, c.aksServer.URL, c.tokens.URL, c.gkeServer.URL)
	if err := d.start(ctx, "hosted", systemNamespace, "spillway-hosted", "--endpoints", endpoints); err != nil {
		return err
	}
	return d.start(ctx, "manager", managerNamespace, "spillway-manager", "--cluster-id", "demo",
		"--leader-elect") // kubectl spillway sees by the Lease that the manager runs.
}

func (d *demo) end() error {
	var errs []error
	for _, program := range d.programs {
		if err := program.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) { // Ctrl-C has reached it, too.
			errs = append(errs, err)
		}
		_ = program.Wait() // How the program ended does not matter.
	}
	for _, server := range []*envtest.Environment{d.server, d.cluster} {
		if server != nil {
			errs = append(errs, server.Stop())
		}
	}
	if d.webhook != nil {
		d.webhook.Close()
	}
	d.clouds.stop()
	return errors.Join(errs...)
}

// relative makes a path relative to the repository, which is shorter for the reader.
func (d *demo) relative(path string) string {
	if short, err := filepath.Rel(d.root, path); err == nil {
		return short
	}
	return path
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("[%3.0fs] %s\n", time.Since(d.begin).Seconds(), fmt.Sprintf(format, args...))
}

// changes is the exit code of kubectl spillway hosted plan if something would change.
const changes = 2

// kubectl runs kubectl in the root of the repository, and returns its output.
func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(d.root, "bin", "kube", "kubectl"), args...)
	cmd.Dir = d.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig(), "PATH="+filepath.Join(d.root, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if planned := slices.Contains(args, "plan"); planned && errors.As(err, &exit) && exit.ExitCode() == changes {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// show runs kubectl as a user would, and prints the command and its output.
func (d *demo) show(ctx context.Context, args ...string) error {
	out, err := d.kubectl(ctx, args...)
	if err != nil {
		return err
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if strings.ContainsAny(arg, ` {}[]"*`) {
			quoted[i] = "'" + arg + "'"
		}
	}
	fmt.Printf("$ kubectl %s\n%s\n", strings.Join(quoted, " "), strings.TrimRight(out, "\n"))
	return nil
}
