package aks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// serverScope is the scope of the API servers of all AKS clusters in Microsoft Entra ID.
const serverScope = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"

// Connection returns access to the cluster, with the user's certificate or token that Azure issues. For a
// cluster with Entra ID, it requests a token with Credential. It needs the right
// Microsoft.ContainerService/managedClusters/listClusterUserCredential/action. It never requests the
// administrator's credential.
func (c *Client) Connection(ctx context.Context) (cloud.Connection, error) {
	var out struct {
		Kubeconfigs []struct {
			Value []byte `json:"value"`
		} `json:"kubeconfigs"`
	}
	err := c.do(ctx, http.MethodPost, c.url("listClusterUserCredential"), nil, "", "", &out)
	if c.notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "asking for access")
	}
	if len(out.Kubeconfigs) == 0 {
		return cloud.Connection{}, c.wrap(errors.New("there is no kubeconfig"), "asking for access")
	}
	connection, err := connectionOf(out.Kubeconfigs[0].Value)
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "reading the kubeconfig")
	}
	if connection.Token != "" || len(connection.Cert) > 0 {
		return connection, nil
	}
	if c.Credential == nil {
		return cloud.Connection{}, c.wrap(errors.New("the cluster uses Entra ID, but there is no identity for it"), "asking for access")
	}
	token, err := c.Credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{serverScope}})
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "asking for a token")
	}
	connection.Token = token.Token
	return connection, nil
}

// connectionOf reads the address and the credentials from a kubeconfig. It ignores everything that could run a
// program. Its errors do not quote the kubeconfig.
func connectionOf(kubeconfig []byte) (cloud.Connection, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return cloud.Connection{}, errors.New("it is not a kubeconfig")
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || config.AuthInfos[current.AuthInfo] == nil {
		return cloud.Connection{}, fmt.Errorf("its context %q is not complete", config.CurrentContext)
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	return cloud.Connection{
		Host: cluster.Server, CA: cluster.CertificateAuthorityData,
		Token: user.Token, Cert: user.ClientCertificateData, Key: user.ClientKeyData,
	}, nil
}
