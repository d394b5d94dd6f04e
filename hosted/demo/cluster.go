package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hostedv1alpha1 "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/test"
)

// startCluster starts the API server of the cluster in EKS, which accepts the tokens of EKS.
func (d *demo) startCluster(context.Context) error {
	tokens := &hosted.TokensOfEKS{}
	d.webhook = httptest.NewServer(tokens)
	d.cluster = &envtest.Environment{BinaryAssetsDirectory: filepath.Join(d.root, "bin", "kube")}
	if err := tokens.Use(d.cluster, d.dir, d.webhook.URL); err != nil {
		return err
	}
	config, err := d.cluster.Start()
	if err != nil {
		return fmt.Errorf("starting the API server of the cluster in EKS: %w", err)
	}
	d.clouds.eks.Edit(func(cluster object) object {
		cluster["endpoint"] = config.Host
		cluster["certificateAuthority"] = object{"data": base64.StdEncoding.EncodeToString(config.CAData)}
		return cluster
	})
	d.say("the cluster in EKS has an API server at %s", config.Host)
	return nil
}

// as writes a kubeconfig with a token of a ServiceAccount. The program gets nothing else.
func (d *demo) as(ctx context.Context, namespace, account string) (file string, err error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(24 * time.Hour / time.Second))}}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := d.admin.SubResource("token").Create(ctx, of, request); err != nil {
		return "", fmt.Errorf("asking for a token of %s/%s: %w", namespace, account, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[account] = &clientcmdapi.Cluster{Server: d.server.Config.Host, CertificateAuthorityData: d.server.Config.CAData}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts[account] = &clientcmdapi.Context{Cluster: account, AuthInfo: account}
	config.CurrentContext = account
	file = filepath.Join(d.dir, account+".kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// start runs a program of bin as a ServiceAccount of a namespace until the demo ends.
func (d *demo) start(ctx context.Context, program, namespace, account string, args ...string) error {
	kubeconfig, err := d.as(ctx, namespace, account)
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, program+".log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(d.root, "bin", program), append([]string{"--kubeconfig", kubeconfig, "--namespace", namespace,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0"}, args...)...)
	command.Env = append(os.Environ(), "SSL_CERT_FILE="+d.certificate())
	command.Stdout, command.Stderr = log, log
	// The program ends with this process, however this process ends.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting bin/%s: %w", program, err)
	}
	d.programs = append(d.programs, command)
	d.say("bin/%s runs as the ServiceAccount %s; its log is %s", program, account, d.relative(path))
	return nil
}

// bound shows that one line makes a cluster a provider.
func (d *demo) bound(ctx context.Context) error {
	title("A line in the spec makes the cluster a provider. The operator has the rights of config/hosted, the manager those of config/rbac, and neither those of an administrator")
	if err := d.show(ctx, "patch", "hostedcluster", "eks-shop", "--type=merge", "-p", `{"spec":{"binding":{"clusterID":"eks-shop"}}}`); err != nil {
		return err
	}
	if err := d.until(ctx, "eks-shop", "its condition Bound is True", func(h *hostedv1alpha1.HostedCluster) bool {
		return meta.IsStatusConditionTrue(h.Status.Conditions, hostedv1alpha1.HostedBound)
	}); err != nil {
		return err
	}
	if err := d.until(ctx, "eks-shop", "the manager is connected, and the ClusterBinding is Ready", func(*hostedv1alpha1.HostedCluster) bool {
		binding := &v1alpha1.ClusterBinding{}
		err := d.admin.Get(ctx, client.ObjectKey{Name: "eks-shop"}, binding)
		return err == nil && meta.IsStatusConditionTrue(binding.Status.Conditions, v1alpha1.BindingReady)
	}); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"get", "clusterbindings"}, {"get", "nodes"},
		{"get", "secret", "hosted-eks-shop", "-n", managerNamespace, "-o", `jsonpath={.metadata.annotations.hosted\.spillway\.io/renew-at}`},
	} {
		if err := d.show(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
